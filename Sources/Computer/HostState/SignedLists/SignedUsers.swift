import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The users of a list that an administrator's phone has signed. They are kept in `state_dir/service/users` and
/// `phones`. The first line of each file has the credential and the version.
public struct SignedUsers: Sendable, Equatable {
  /// The id of this computer's credential.
  public let credential: String
  public let version: UserListVersion
  public private(set) var lines: [String: UserListLine] = [:]
  /// The size of the users' lines in bytes.
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

  /// Makes an empty list, or one with the lines of an earlier list.
  init(credential: String, version: UserListVersion, lines: [String: UserListLine] = [:]) {
    self.credential = credential
    self.version = version
    self.lines = lines
    size = lines.values.reduce(0) { $0 + Self.size(of: $1) }
  }

  /// Reads the kept list; nil if it is not complete. The two files have different versions if writing was interrupted.
  /// The whole list is then fetched again.
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

  /// The version of the kept list; nil if it is not complete.
  public static func version(_ place: Place, credential: String) -> UserListVersion? {
    let found = versions(place, credential)
    return found.count == 2 && found[0] == found[1] ? found[0] : nil
  }

  /// The highest version that was kept here: the higher of both files if writing was interrupted. Lower versions are
  /// not taken.
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

  /// An upper bound of the user's lines in both files, in bytes.
  private static func size(of line: UserListLine) -> Int {
    line.phones.reduce(2 * line.name.utf8.count + line.token.exposedBytes.count + 2) {
      $0 + line.name.utf8.count + $1.fields.utf8.count + 2
    }
  }

  /// Whether the list fits into the files. The bound keeps a service from filling the memory.
  var fits: Bool { lines.count <= UserListHead.greatestUserCount && size <= PinnedPhones.greatestSize }

  /// Whether this list is the one that the head describes.
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

  /// Writes the files whole or not at all. Only root can read them. The helper and `iampassctl join` may write at the
  /// same moment.
  ///
  /// The phones are written first. So no phone is trusted that the list in `users` no longer has, even after a power cut.
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
    try state.keep(phones, at: place.phones, mode: 0o600)
    // A power cut may bring the former list of users back. It is then fetched again.
    try AtomicFile.write(users, to: place.users, mode: 0o600)
    return true
  }

  /// Users of `former` who are not in this list, by name.
  func removed(since former: SignedUsers) -> [String] {
    former.lines.keys.filter { lines[$0] == nil }.sorted()
  }

  /// Phones of `former`, as `user:id`, whose user is still in this list but whose key is not.
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

  /// Nil if a line is not valid: the kept files have no such lines.
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
