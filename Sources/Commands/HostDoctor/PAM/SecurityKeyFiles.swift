import Glibc
import HostState
import HostSystem

/// The files of security keys: the mapping of pam_u2f, and the user ids of users who have a key.
///
/// Neither has a secret: a screen locker without root's rights reads them too.
public struct SecurityKeyFiles: Sendable {
  /// The origin of keys, at registration and in pam_u2f. It is not the host's name, which may change.
  public static let origin = "pam://iampass"
  /// The greatest size in bytes. A key takes about 250.
  private static let greatestSize = 4 * 1024 * 1024

  /// pam_u2f's mapping: `USER:HANDLE,KEY,TYPE,OPTIONS`, with more keys after more colons.
  public let mapping: String
  /// Lines `USER:UID`. So a user's id stays in PAM's line even if the directory does not answer.
  public let users: String
  private let uidOf: @Sendable (UnixUsername) -> UInt32?
  private let nameOf: @Sendable (UInt32) -> UnixUsername?

  /// - Parameters:
  ///   - folder: `/etc/iampass`.
  ///   - uidOf: gives the user id of a name; nil if the system does not know it or does not answer.
  ///   - nameOf: gives the name of a user id; nil if the system does not know it or does not answer.
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

  /// The users whose sign-ins need a key if it is the second factor.
  public struct Holders: Sendable, Equatable {
    /// The user ids in ascending order, each once.
    public let uids: [UInt32]
    /// Names whose id is not known, now or before.
    public let unknown: [String]
  }

  /// - Parameter user: a user to leave out.
  public func holders(without user: UnixUsername? = nil) throws(FileError) -> Holders {
    let names = try lines().map(Self.name).filter { user == nil || UnixUsername(validating: $0) != user }
    let known = try ids(of: names)
    return Holders(
      uids: Set(known.map(\.uid)).sorted(), unknown: names.filter { name in !known.contains { $0.name == name } })
  }

  /// The ids of these names: as the system knows them now, or otherwise the former ones. The id of a removed user may
  /// now belong to another user, who has no key.
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

  /// The number of keys of each user; empty without a mapping.
  public func counts() throws(FileError) -> [(user: String, keys: Int)] {
    try lines().map { line in
      (user: Self.name(line), keys: line.count { $0 == ":" })
    }
  }

  /// - Parameter registration: the output of pamu2fcfg(1), which begins with the user's name and a colon.
  public func add(_ registration: String, of user: UnixUsername) throws(FileError) {
    var lines = try lines()
    let beginning = user.text + ":"
    if let place = lines.firstIndex(where: { $0.hasPrefix(beginning) }) {
      lines[place] += ":" + registration.dropFirst(beginning.count)
    } else {
      lines.append(registration)
    }
    // The mapping is written first: a user who needs a key must have one.
    try write(lines, to: mapping)
    try writeUsers(lines)
  }

  /// Removes the user's keys. False if the user has none.
  @discardableResult
  public func remove(_ user: UnixUsername) throws(FileError) -> Bool {
    let lines = try lines()
    let left = lines.filter { !$0.hasPrefix(user.text + ":") }
    guard left.count < lines.count else { return false }
    try writeUsers(left)
    try write(left, to: mapping)
    return true
  }

  /// Makes both files if they are missing.
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
