import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Which of a user's phones is lost.
struct LostPhone {
  /// The phone that the administrator means.
  struct Choice {
    /// The phone's id; nil: all phones of the user.
    let phone: String?
    /// The user's name for it.
    let name: String?
    /// The ids of the phones that the user keeps.
    let others: [String]
    /// Why the service did not list the phones; nil if it did, or if all are meant.
    var listFailure: CommandProblem? = nil

    static let all = Choice(phone: nil, name: nil, others: [])

    func message(of user: UnixUsername) -> String {
      name.map { "\(user)'s phone \($0) is cut off; the other one goes on" } ?? "\(user)'s phone is cut off"
    }
  }

  let host: ConfiguredHost
  let user: EnrolledUser

  /// - Parameters:
  ///   - text: a phone's name, or the beginning of its id.
  ///   - isAll: whether all phones are meant.
  /// - Throws: ``CommandProblem/severalPhones(_:_:)`` if none is named and the user has several.
  func choice(_ text: String?, isAll: Bool) throws(CommandProblem) -> Choice {
    if isAll { return .all }
    let listed: [UserPhonesReply.Phone]
    switch try self.listed() {
    case .success(let phones?): listed = phones
    case .success(nil): return try text.map { (text) throws(CommandProblem) in try pinned(text, .keysNotTold) } ?? .all
    case .failure(let failure):
      return try text.map { (text) throws(CommandProblem) in try pinned(text, failure) } ?? .all
    }
    guard let text else {
      guard listed.count > 1 else { return .all }
      throw .severalPhones(user.name, listed.map { Self.shown($0) })
    }
    let named = listed.filter { $0.name == text }
    let meant = named.isEmpty ? listed.filter { !text.isEmpty && $0.id.hasPrefix(text) } : named
    guard meant.count == 1, let phone = meant.first else { throw .noSuchPhone(user.name, text) }
    return Choice(
      phone: phone.id, name: Self.shown(phone), others: listed.map(\.id).filter { $0 != phone.id })
  }

  static func shown(_ phone: UserPhonesReply.Phone) -> String { DisplayText.sanitized(phone.name, limit: 64) }

  /// The user's phones at the service. A failure does not keep a phone from being revoked.
  private func listed() throws(CommandProblem) -> Result<[UserPhonesReply.Phone]?, CommandProblem> {
    do throws(CommandProblem) { return .success(try host.phones(of: user)?.phones) } catch {
      let isOfService =
        error.serviceError != nil || error.isUnreachable || error == .unknownAtService(user.name)
      guard isOfService else { throw error }
      return .failure(error)
    }
  }

  /// Chooses among the phones that this computer knows.
  ///
  /// - Parameter failure: why the service did not list the phones; thrown if the phone is not known here.
  private func pinned(_ text: String, _ failure: CommandProblem) throws(CommandProblem) -> Choice {
    let pinned = try host.pins.phones(of: user.name)
    let named = pinned.filter { $0.name == text }
    let meant = named.isEmpty ? pinned.filter { !text.isEmpty && $0.id.hasPrefix(text) } : named
    guard meant.count == 1, let phone = meant.first else { throw failure }
    return Choice(
      phone: phone.id, name: DisplayText.sanitized(phone.name, limit: 64),
      others: pinned.map(\.id).filter { $0 != phone.id }, listFailure: failure)
  }

  /// Prints what is still to do if the call to the service failed.
  func sayForgotten(_ choice: Choice) {
    let which = choice.name.map { "phone \($0)" } ?? "phones"
    Terminal.complain("this computer no longer trusts \(user.name)'s \(which); the service was not told")
    Terminal.complain(
      "warning: other computers, and this one under approvals = service, take the phone until the service is told")
    // Such a service does not list phones, and this computer no longer knows the name.
    guard choice.listFailure == .keysNotTold else {
      return Terminal.complain("hint: the same command again, once the service answers")
    }
    Terminal.complain("hint: iampassctl lost-device \(user.name) --all-phones tells it of all the user's phones")
  }

  /// Removes the lost phone from the pinned phones, whatever the service says. This also applies to other users with
  /// the same token.
  ///
  /// - Returns: why a phone may still be pinned. The new phone's link is shown in any case.
  func forgetPins(_ choice: Choice) -> CommandProblem? {
    do throws(CommandProblem) {
      let names = try host.usersFile { () throws(UserTokensError) in
        try UserTokens(path: host.usersPath).users(having: user.token)
      }
      for name in names.compactMap({ UnixUsername(validating: $0) }) { try host.pins.forget(name, phone: choice.phone) }
      return nil
    } catch { return error }
  }
}
