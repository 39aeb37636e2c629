import Glibc
import HostState
import HostSystem

/// Which security keys sign whom in: the mapping of pam_u2f, and the user ids of those who have a key.
///
/// Neither holds a secret: a screen locker without root's rights reads them, too.
public struct SecurityKeyFiles: Sendable {
  /// What keys are registered for, and what pam_u2f asks them for. Not the host's name: it may change.
  public static let origin = "pam://iampass"
  /// Bytes; a key takes about 250.
  private static let greatestSize = 4 * 1024 * 1024

  /// pam_u2f's mapping: `USER:HANDLE,KEY,TYPE,OPTIONS`, with further keys after further colons.
  public let mapping: String
  /// `USER:UID` a line: a directory that does not answer must not take a user's id from PAM's line.
  public let users: String
  private let uidOf: @Sendable (UnixUsername) -> UInt32?
  private let nameOf: @Sendable (UInt32) -> UnixUsername?

  /// - Parameters:
  ///   - folder: `/etc/iampass`.
  ///   - uidOf: the user id of a name that the system knows; nil also if it does not say.
  ///   - nameOf: the name of a user id that the system knows; nil also if it does not say.
  public init(
    folder: String,
    uidOf: @escaping @Sendable (UnixUsername) -> UInt32? = { (try? SystemUser.find(named: $0))?.uid },
    nameOf: @escaping @Sendable (UInt32) -> UnixUsername? = { (try? SystemUser.find(uid: $0))?.name }
  ) {
    mapping = folder + "/security-keys"
    users = folder + "/security-key-users"
    self.uidOf = uidOf
    self.nameOf = nameOf
  }

  /// Whose sign-ins need a key, where it is the second factor.
  public struct Holders: Sendable, Equatable {
    /// In ascending order, each once.
    public let uids: [UInt32]
    /// Names whose id is neither known now nor was known before.
    public let unknown: [String]
  }

  /// - Parameter user: who does not count.
  public func holders(without user: UnixUsername? = nil) throws(FileError) -> Holders {
    let names = try lines().map(Self.name).filter { user == nil || UnixUsername(validating: $0) != user }
    let known = try ids(of: names)
    return Holders(
      uids: Set(known.map(\.uid)).sorted(), unknown: names.filter { name in !known.contains { $0.name == name } })
  }

  /// As the system knows them now; as they were before where it does not. The id of a user who is gone may have become
  /// another's, who has no key.
  private func ids(of names: [String]) throws(FileError) -> [(name: String, uid: UInt32)] {
    var before: [UnixUsername: UInt32] = [:]
    for line in try text(users).split(separator: "\n") {
      let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      if parts.count == 2, let name = UnixUsername(validating: parts[0]) { before[name] = UInt32(parts[1]) }
    }
    return names.compactMap { text in
      guard let name = UnixUsername(validating: text) else { return nil }
      if let uid = uidOf(name) { return (text, uid) }
      guard let uid = before[name], nameOf(uid).map({ $0 == name }) ?? true else { return nil }
      return (text, uid)
    }
  }

  private static func name(_ line: String) -> String { String(line.prefix { $0 != ":" }) }

  /// How many keys each user has; empty without a mapping.
  public func counts() throws(FileError) -> [(user: String, keys: Int)] {
    try lines().map { line in
      (user: Self.name(line), keys: line.count { $0 == ":" })
    }
  }

  /// - Parameter registration: as pamu2fcfg(1) prints it, beginning with the user's name and a colon.
  public func add(_ registration: String, of user: UnixUsername) throws(FileError) {
    var lines = try lines()
    let beginning = user.text + ":"
    if let place = lines.firstIndex(where: { $0.hasPrefix(beginning) }) {
      lines[place] += ":" + registration.dropFirst(beginning.count)
    } else {
      lines.append(registration)
    }
    // In this order: whoever needs a key must have one.
    try write(lines, to: mapping)
    try writeUsers(lines)
  }

  /// False if the user has no key.
  @discardableResult
  public func remove(_ user: UnixUsername) throws(FileError) -> Bool {
    let lines = try lines()
    let left = lines.filter { !$0.hasPrefix(user.text + ":") }
    guard left.count < lines.count else { return false }
    try writeUsers(left)
    try write(left, to: mapping)
    return true
  }

  /// Both are there afterwards.
  public func make() throws(FileError) {
    let lines = try lines()
    try write(lines, to: mapping)
    try writeUsers(lines)
  }

  private func writeUsers(_ lines: [String]) throws(FileError) {
    let known = try ids(of: lines.map(Self.name))
    try write(known.map { "\($0.name):\($0.uid)" }, to: users)
  }

  private func write(_ lines: [String], to path: String) throws(FileError) {
    try AtomicFile.write(Array(lines.map { $0 + "\n" }.joined().utf8), to: path, mode: 0o644)
  }

  private func lines() throws(FileError) -> [String] { try text(mapping).split(separator: "\n").map(String.init) }

  /// Empty without the file.
  private func text(_ path: String) throws(FileError) -> String {
    do {
      return String(
        decoding: try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestSize), as: UTF8.self)
    } catch {
      if error.code == .missing { return "" }
      throw error
    }
  }
}
