import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// `/etc/iampass/phones`, changed by commands.
struct PhonePins {
  let path: String

  private var editor: PinnedPhonesEditor { PinnedPhonesEditor(path: path) }

  /// Adds a phone to the user's pinned phones.
  ///
  /// - Parameter isOnly: whether the user's other phones are removed.
  func pin(_ proven: ProvenPhone, for user: UnixUsername, isOnly: Bool) throws(CommandProblem) {
    try pin(proven.phone, for: user, isOnly: isOnly)
  }

  /// - Parameter proven: the service's data of a ``ProvenPhone``.
  func pin(_ proven: UserPhonesReply.Phone, for user: UnixUsername, isOnly: Bool) throws(CommandProblem) {
    guard let phone = PinnedPhone(proven, since: Int64(time(nil))) else { throw .unusableKeys(user) }
    try onFile { () throws(PinnedPhonesError) in try editor.pin(phone, for: user, replacing: isOnly) }
  }

  /// Prints the user's other phones that this computer still trusts. Only the service says whether the user has more
  /// than one phone.
  func tellOthers(than proven: ProvenPhone, of user: UnixUsername) throws(CommandProblem) {
    for phone in try phones(of: user) where phone.id != proven.phone.id {
      let name = phone.name.isEmpty ? "a phone without a name" : phone.name
      Terminal.complain("warning: still trusted for \(user): \(name), with the words \(phone.keys.words)")
      // The service chose the id. An id that a shell could read as more than one word is not proposed to root.
      let next =
        phone.id.utf8.allSatisfy(Self.isPlain) ? "phone forget --phone \(phone.id) \(user)" : "phone list \(user)"
      Terminal.complain("hint: if \(user) does not have that phone any more: iampassctl \(next)")
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    let character = Character(Unicode.Scalar(byte))
    return character.isASCII && (character.isLetter || character.isNumber)
  }

  /// Throws if the file cannot be used, before something else is changed.
  func check() throws(CommandProblem) {
    try onFile { () throws(PinnedPhonesError) in _ = try PinnedPhones(path: path) }
  }

  /// The user's pinned phones.
  func phones(of user: UnixUsername) throws(CommandProblem) -> [PinnedPhone] {
    try onFile { () throws(PinnedPhonesError) in try PinnedPhones(path: path).phones(of: user) }
  }

  /// - Parameter id: nil: all phones of the user.
  /// - Returns: whether there was one.
  @discardableResult
  func forget(_ user: UnixUsername, phone id: String? = nil) throws(CommandProblem) -> Bool {
    try onFile { () throws(PinnedPhonesError) in try editor.forget(user, phone: id) }
  }

  func onFile<Result>(_ body: () throws(PinnedPhonesError) -> Result) throws(CommandProblem) -> Result {
    do { return try body() } catch { throw CommandProblem(error, path: path) }
  }
}

extension HostOptions {
  var pins: PhonePins { PhonePins(path: place.phones) }
}

extension ConfiguredHost {
  var pins: PhonePins { PhonePins(path: setup.place.phones) }

  /// The user's phones with their keys, and how many the user may have, from the service. Nil if the service does not
  /// give them, because it is an older one or of another maker. Call it only for a user whom the service knows, and
  /// with a management credential.
  func phones(of user: EnrolledUser) throws(CommandProblem) -> UserPhonesReply? {
    do throws(CommandProblem) {
      return try manage { (client, deadline) throws(ServiceError) in
        try client.phones(of: user.token, deadline: deadline)
      }
    } catch {
      switch error.serviceError {
      case .notFound?, .unexpectedStatus?: return nil
      default:
        guard error == .mayNotManage(credentials: credentialsPath) else { throw error }
        return nil
      }
    }
  }

  /// Whether a phone that registers now can be pinned. A failed question does not keep a phone from registering.
  func tellsKeys(of user: EnrolledUser) throws(CommandProblem) -> Bool {
    do throws(CommandProblem) { return try phones(of: user) != nil } catch {
      if error.serviceError != nil { return false }
      throw error
    }
  }
}
