import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The users of a list that an administrator's phone has signed, as they are kept in `state_dir/service/users` and
/// `phones`, each with a first line that says for which credential and in which version.
public struct SignedUsers: Sendable, Equatable {
  /// The id of this computer's credential.
  public let credential: String
  public let version: UserListVersion
  public private(set) var lines: [String: UserListLine] = [:]
  /// Bytes of the users' lines.
  private var size = 0

  /// Where a list is kept.
  public struct Place: Sendable {
    let users: String
    let phones: String

    public init(folder: String) {
      users = folder + "/users"
      phones = folder + "/phones"
    }
  }

  /// An empty list, or the lines of one before.
  init(credential: String, version: UserListVersion, lines: [String: UserListLine] = [:]) {
    self.credential = credential
    self.version = version
    self.lines = lines
    size = lines.values.reduce(0) { $0 + Self.size(of: $1) }
  }

  /// What is kept; nil if nothing whole is: the two files are of different versions if writing was broken off. The list
  /// is then fetched as a whole.
  public init?(_ place: Place, credential: String) {
    guard let users = Self.read(place.users), let phones = Self.read(place.phones),
      let heading = ListHeading(.users, beginning: users), heading.credential == credential,
      ListHeading(.phones, beginning: phones)
        == ListHeading(.phones, credential: credential, version: heading.version),
      let entries = try? UserTokens(parsing: users).entries(), let known = PhoneLines(parsing: phones)
    else { return nil }
    self.init(credential: credential, version: heading.version)
    for (user, token) in entries {
      guard let line = UserListLine(name: user.text, phones: known.phones[user.text] ?? [], token: token) else {
        return nil
      }
      set(line, for: user.text)
    }
  }

  private static func read(_ path: String) -> [UInt8]? {
    try? SecureFile.read(path, privacy: .secret, limit: UserTokens.greatestSize)
  }

  /// The version of what is kept; nil if that is not whole.
  public static func version(_ place: Place, credential: String) -> UserListVersion? {
    let found = versions(place, credential)
    return found.count == 2 && found[0] == found[1] ? found[0] : nil
  }

  /// The highest version that was kept here: of both files, if writing was broken off. Nothing lower is taken.
  public static func floor(_ place: Place, credential: String) -> UserListVersion? {
    versions(place, credential).max()
  }

  private static func versions(_ place: Place, _ credential: String) -> [UserListVersion] {
    [(place.users, ListHeading.Content.users), (place.phones, .phones)].compactMap { path, content in
      ListHeading(content, of: path).flatMap { $0.credential == credential ? $0.version : nil }
    }
  }

  mutating func take(_ change: SignedUserListReply.Change) {
    switch change {
    case .listed(let line): set(line, for: line.name)
    case .removed(let name): set(nil, for: name)
    }
  }

  private mutating func set(_ line: UserListLine?, for name: String) {
    size += (line.map(Self.size) ?? 0) - (lines[name].map(Self.size) ?? 0)
    lines[name] = line
  }

  /// Bytes of the user's lines in both files, and some more.
  private static func size(of line: UserListLine) -> Int {
    line.phones.reduce(2 * line.name.utf8.count + line.token.exposedBytes.count + 2) {
      $0 + line.name.utf8.count + $1.fields.utf8.count + 2
    }
  }

  /// Whether the files can have all of it. A service that says more and more fills no memory.
  var fits: Bool { lines.count <= UserListHead.greatestUserCount && size <= PinnedPhones.greatestSize }

  /// Whether this is what the head says of it.
  func isList(_ list: UserListHead.List) -> Bool {
    guard Int64(lines.count) == list.count, let digest = UserListLine.digest(of: Array(lines.values)) else {
      return false
    }
    return Digest.areEqual(digest, list.digest)
  }

  private var sorted: [UserListLine] { lines.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }

  private func text(_ content: ListHeading.Content, _ lines: [String]) -> [UInt8] {
    let heading = ListHeading(content, credential: credential, version: version).line
    return Array(([heading] + lines).joined(separator: "\n").utf8) + [UInt8(ascii: "\n")]
  }

  /// Whole or not at all; root's alone. The helper and `iampassctl join` may write at the same moment.
  ///
  /// The phones are first: at no moment, and after no crash, is a phone taken that the list in `users` has no more.
  ///
  /// - Returns: false if a newer list of the same credential is kept, which stays.
  public func write(in state: RunFolder) throws(FileError) -> Bool {
    let place = Place(folder: try state.folder("service"))
    let sorted = sorted
    let users = text(.users, sorted.map { "\($0.name):\($0.token.exposedValue)" })
    let phones = text(.phones, sorted.flatMap { line in line.phones.map { "\(line.name):\($0.fields)" } })
    guard users.count <= UserTokens.greatestSize else { throw FileError(.tooLarge, path: place.users) }
    guard phones.count <= PinnedPhones.greatestSize else { throw FileError(.tooLarge, path: place.phones) }
    let lock = try EditorLock(of: place.users)
    defer { withExtendedLifetime(lock) {} }
    if let floor = Self.floor(place, credential: credential), version < floor { return false }
    try AtomicFile.write(phones, to: place.phones, mode: 0o600)
    try AtomicFile.write(users, to: place.users, mode: 0o600)
    return true
  }

  /// Users of `former` who are not in this list, by name.
  func removed(since former: SignedUsers) -> [String] {
    former.lines.keys.filter { lines[$0] == nil }.sorted()
  }

  /// Phones of `former`, `user:id`, whose keys this list does not have, of users whom it still has.
  func lostPhones(since former: SignedUsers) -> [String] {
    former.lines.values.flatMap { line in
      guard let now = lines[line.name] else { return [String]() }
      return line.phones.filter { phone in
        !now.phones.contains { $0.id == phone.id && $0.key == phone.key && $0.credential == phone.credential }
      }.map { "\(line.name):\($0.id)" }
    }.sorted()
  }
}

/// All lines of a phones file by their users.
private struct PhoneLines {
  private(set) var phones: [String: [PinnedPhone]] = [:]

  /// Nil if one cannot be read: the files that are kept here have no such lines.
  init?(parsing bytes: [UInt8]) {
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let user = String(validating: line[..<colon], as: UTF8.self),
        let fields = String(validating: line[(colon + 1)...], as: UTF8.self), let phone = PinnedPhone(fields: fields)
      else { return nil }
      phones[user, default: []].append(phone)
    }
  }
}
