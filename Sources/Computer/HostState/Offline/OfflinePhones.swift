import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// An approval that a trusted phone's digits have proved, and that is noted on the disk.
///
/// Only ``OfflinePhones`` makes it, so that a sign-in by other digits does not compile.
public struct OfflineApproval: Sendable, Equatable {
  public let user: UnixUsername
  public let phone: PinnedPhone
  /// The id under which it is reported to the service.
  public let use: String

  fileprivate init(user: UnixUsername, phone: PinnedPhone, use: String) {
    self.user = user
    self.phone = phone
    self.use = use
  }
}

/// The question to a phone without a network, and when it was asked.
public struct OfflineQuestion: Sendable, Equatable {
  /// How long digits are accepted, in seconds.
  public static let lifetime: Int64 = 120

  public let challenge: OfflineChallenge
  /// When the question was asked, in seconds after boot. Changes of the wall clock have no effect, and the time of a
  /// suspended computer counts.
  let posed: Int64

  /// Whether the time for digits is over. It is also over if the clock went back.
  func isOver(at now: Int64) -> Bool { !(posed..<posed + Self.lifetime).contains(now) }
}

/// The result of typed digits.
public enum DigitsVerdict: Sendable, Equatable {
  case approved(OfflineApproval)
  case wrong
  case tooLate
}

/// The phones that can approve without the service: `/var/lib/iampass/offline` has this computer's key, a file for each
/// phone whose key for agreement is known, and a file for each approval that the service does not know yet.
///
/// A phone's key comes signed with each approval that this computer verifies (`approvals = verified`). It counts for 30
/// days after the phone's last approval with the service. `/etc/iampass/phones` or the service's signed list must still
/// have the phone with the key that signed.
public struct OfflinePhones: Sendable {
  private static let folderName = "offline"
  private static let keyName = "key"
  /// The greatest size of a file in bytes.
  private static let greatestSize = 4_096

  private let state: RunFolder
  private let pins: PhoneTrust
  private let computer: String?
  private let now: @Sendable () -> Int64
  private let wallTime: @Sendable () -> Int64

  /// - Parameters:
  ///   - state: `/var/lib/iampass`.
  ///   - pins: the path of `/etc/iampass/phones`.
  ///   - service: the phones of the service's signed list; nil: only those of the file count.
  ///   - computer: see ``ComputerName``.
  ///   - now: seconds after boot.
  ///   - wallTime: seconds since 1970. A phone's age is counted by it, because it goes on over restarts.
  public init(
    state: RunFolder, pins: String, service: ServicePhones? = nil, computer: String? = ComputerName.current(),
    now: @escaping @Sendable () -> Int64 = BootTime.seconds,
    wallTime: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
  ) {
    self.wallTime = wallTime
    self.state = state
    self.pins = PhoneTrust(path: pins, service: service)
    self.computer = computer
    self.now = now
  }

  // MARK: Getting to know a phone

  /// Keeps the key that the phone signed with its approval. The first call also makes this computer's own key.
  public func meet(_ approval: VerifiedApproval, of user: UnixUsername) throws(OfflineError) {
    guard let key = approval.agreementKey else { return }
    guard let computer else { throw .unknownComputer }
    if try ownKey(orOfAnother: true)?.computer != computer { try makeOwnKey(for: computer) }
    let known = MetPhone(user: user, phone: approval.phone, agreementKey: key, seen: wallTime())
    let path = try onFile { () throws(FileError) in try self.path(of: user, approval.phone.id) }
    if let old = try? met(path), old.isCurrent(besides: known) { return }
    try onFile { () throws(FileError) in try AtomicFile.write(known.encoded(), to: path, mode: 0o600) }
  }

  /// Forgets the user's phones, because the service says that the user has none.
  ///
  /// - Returns: false if none was known.
  @discardableResult
  public func forget(_ user: UnixUsername) throws(OfflineError) -> Bool {
    guard isThere else { return false }
    return try onFile { () throws(FileError) in
      let folder = try self.folder()
      let names = try FolderListing.names(in: folder).filter { $0.hasPrefix(Self.beginning(of: user)) }
      for name in names where unlink(folder + "/" + name) != 0 && errno != ENOENT {
        throw FileError(.system(errno), path: folder + "/" + name)
      }
      if !names.isEmpty { try FolderFlush.flush(folder) }
      return !names.isEmpty
    }
  }

  private func makeOwnKey(for computer: String) throws(OfflineError) {
    let key = try ComputerKey.make(for: computer)
    try onFile { () throws(FileError) in
      let folder = try self.folder()
      // Each writer has its own file name. The key of the last writer counts.
      guard let own = Digest.randomIdentifier() else { throw FileError(.system(EIO), path: folder) }
      let file = try NewFile(for: folder + "/." + own, mode: 0o600)
      try file.write(key.encoded())
      try file.takePlace(of: folder + "/" + Self.keyName)
      try FolderFlush.flush(folder)
    }
  }

  /// This computer's key; nil if it has none.
  private func ownKey(orOfAnother isAnothersTaken: Bool = false) throws(OfflineError) -> ComputerKey? {
    guard isThere else { return nil }
    let path = try onFile { () throws(FileError) in try folder() + "/" + Self.keyName }
    guard let bytes = try read(path) else { return nil }
    guard let key = ComputerKey(parsing: bytes) else {
      if isAnothersTaken { return nil }
      throw .damaged(path: path)
    }
    if isAnothersTaken { return key }
    guard let computer else { throw .unknownComputer }
    guard key.computer == computer else { throw .notThisComputers(path: path) }
    return key
  }

  // MARK: Asking a phone

  /// The user's trusted phones that can approve without the service, in the order of `/etc/iampass/phones`.
  ///
  /// - Throws: what is wrong with one, if none is left.
  public func phones(of user: UnixUsername) throws(OfflineError) -> [PinnedPhone] {
    try known(user).usable().map(\.pinned)
  }

  /// What is wrong with phones of the user while others can approve.
  public func faults(of user: UnixUsername) -> [OfflineError] { (try? known(user))?.faults ?? [] }

  /// Whether all phones that this computer trusts have a screen lock. If it were asked of a single user, it would
  /// reveal who has a phone.
  public var haveAllLocks: Bool { pins.haveAllLocks }

  /// Makes a challenge; nil if this computer does not know a phone's key yet.
  ///
  /// - Parameter time: seconds since 1970.
  public func question(
    method: AuthenticationMethod, context: SignInContext, at time: Int64
  ) throws(OfflineError) -> OfflineQuestion? {
    guard let own = try ownKey() else { return nil }
    guard let challenge = OfflineChallenge.draw(by: own.publicKey, at: time, method: method, context: context) else {
      throw .cannotCompute("no random numbers, or a command that no phone could show")
    }
    return OfflineQuestion(challenge: challenge, posed: now())
  }

  /// Checks whether a trusted phone of the user made these digits for this question. The use is on the disk before this
  /// returns ``DigitsVerdict/approved(_:)``.
  ///
  /// - Parameters:
  ///   - user: nil for a user whom no phone can sign in. It then takes the same time.
  ///   - origin: scheme, host and port of the service.
  public func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, of user: UnixUsername?, origin: String, _ use: CodeUse
  ) throws(OfflineError) -> DigitsVerdict {
    guard !question.isOver(at: now()) else { return .tooLate }
    guard let own = try ownKey(), own.publicKey == question.challenge.computer else { return .wrong }
    let candidates = try user.map { (user) throws(OfflineError) in try known(user).usable() } ?? []
    if candidates.isEmpty { _ = try own.secret(with: own.publicKey) }
    var found: PinnedPhone?
    for candidate in candidates where question.challenge.method != .device || candidate.pinned.credential != nil {
      let secret = try own.secret(with: candidate.agreementKey)
      if OfflineDigits(secret: secret, challenge: question.challenge, origin: origin) == digits {
        found = candidate.pinned
      }
    }
    guard let user, let found else { return .wrong }
    let noted = try onFile { () throws(FileError) in try PhoneUses(state: state).note(use, by: found) }
    return .approved(OfflineApproval(user: user, phone: found, use: noted))
  }

  /// A phone with a fault does not affect the others.
  private struct KnownPhones {
    var phones: [(pinned: PinnedPhone, agreementKey: P256PublicKey)] = []
    var faults: [OfflineError] = []

    func usable() throws(OfflineError) -> [(pinned: PinnedPhone, agreementKey: P256PublicKey)] {
      if phones.isEmpty, let fault = faults.first { throw fault }
      return phones
    }
  }

  private func known(_ user: UnixUsername) throws(OfflineError) -> KnownPhones {
    var known = KnownPhones()
    guard isThere else { return known }
    let pinned: [PinnedPhone]
    do { pinned = try pins.phones(of: user) } catch {
      switch error {
      case .file(let error, let path): throw .pins(error, path: path)
      case .gap: return known
      }
    }
    for phone in pinned {
      let path = try onFile { () throws(FileError) in try self.path(of: user, phone.id) }
      do throws(OfflineError) {
        // A phone that was registered again has another key, and has to sign in once with the service.
        guard let met = try met(path), met.user == user, met.phone == phone.id, met.signingKey == phone.key else {
          continue
        }
        if let fault = met.fault(at: wallTime()) { throw fault }
        known.phones.append((phone, met.agreementKey))
      } catch { known.faults.append(error) }
    }
    return known
  }

  // MARK: Files

  private func met(_ path: String) throws(OfflineError) -> MetPhone? {
    guard let bytes = try read(path) else { return nil }
    guard let phone = MetPhone(parsing: bytes) else { throw .damaged(path: path) }
    return phone
  }

  /// Nil if there is no such file.
  private func read(_ path: String) throws(OfflineError) -> [UInt8]? {
    do { return try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch {
      if error.code == .missing { return nil }
      throw .file(error)
    }
  }

  private func folder() throws(FileError) -> String { try state.folder(Self.folderName) }

  /// Looking for a key does not make the folder, so it works on a read-only disk.
  private var isThere: Bool {
    var found = stat()
    return lstat(state.path + "/" + Self.folderName, &found) == 0 || errno != ENOENT && errno != ENOTDIR
  }

  /// The path is made of hashes: neither a user's name nor a phone's id becomes part of it.
  private func path(of user: UnixUsername, _ phone: String) throws(FileError) -> String {
    try folder() + "/" + Self.beginning(of: user) + Self.name(phone)
  }

  private static func beginning(of user: UnixUsername) -> String { name(user.text) + "." }

  private static func name(_ text: String) -> String { Digest.hexadecimal(Digest.sha256(Array(text.utf8))) }

  private func onFile<Result>(_ body: () throws(FileError) -> Result) throws(OfflineError) -> Result {
    do { return try body() } catch { throw .file(error) }
  }
}
