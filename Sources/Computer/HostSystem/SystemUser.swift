import Glibc

/// The system's entry of a user (getpwnam(3)).
public struct SystemUser: Sendable, Equatable {
  /// The user's name as the system spells it.
  public let name: UnixUsername
  public let uid: UInt32

  public init(name: UnixUsername, uid: UInt32) {
    self.name = name
    self.uid = uid
  }

  /// The user of this name; nil if the system says that there is none.
  ///
  /// - Throws: if the system does not answer. The user must not count as unknown then.
  public static func find(named name: UnixUsername) throws(UserLookupError) -> SystemUser? {
    try SystemEntry.user { getpwnam_r(name.text, $0, $1, $2, $3) }?.user
  }

  /// The user whom the system finds by a host's spelling of the name, which need not be valid in our files: sssd finds
  /// `john_doe` by `john doe` (override_space in sssd.conf(5)). Nil if the system says that there is none, and if
  /// neither spelling is valid: then nobody can have a token by them.
  ///
  /// - Parameter given: the name's bytes, which need not be UTF-8.
  /// - Throws: as ``find(named:)``.
  public static func find(spelled given: [UInt8]) throws(UserLookupError) -> SystemUser? {
    guard !given.isEmpty, !given.contains(0) else { return nil }
    let text = (given + [0]).map { CChar(truncatingIfNeeded: $0) }
    do throws(UserLookupError) { return try SystemEntry.user { getpwnam_r(text, $0, $1, $2, $3) }?.user } catch {
      let isValid = UnixUsername(validating: String(decoding: given, as: UTF8.self)) != nil
      guard error == .nameNotUsable, !isValid else { throw error }
      return nil
    }
  }

  /// The user of this number (getpwuid(3)), found as ``find(named:)`` does.
  public static func find(uid: UInt32) throws(UserLookupError) -> SystemUser? {
    try SystemEntry.user { getpwuid_r(uid, $0, $1, $2, $3) }?.user
  }
}

/// Why the system did not say who a user is.
public enum UserLookupError: Error, Sendable, Equatable {
  /// A failure with errno: a directory is out of reach, descriptors ran out, or an entry is too long.
  case system(Int32)
  /// The system's spelling of the user's name is not valid in our files.
  case nameNotUsable
  /// The user had changed or was gone when the groups were looked up.
  case changed
  /// The system does not know a user whom the service lists. The source that knows the user may be out of reach.
  case listedAndUnknown
  /// A group of the configuration does not exist.
  case noSuchGroup(String)
  /// The group lists the user, but the system's list of the user's groups does not have the group.
  case groupsNotWhole

  /// The reason, for the log.
  public var explanation: String {
    switch self {
    case .system(let number): "the system cannot look users up: \(String(cString: strerror(number)))"
    case .nameNotUsable: "the system spells the user's name with characters that are not taken"
    case .changed: "the system's entry of the user changed while it was read"
    case .listedAndUnknown: "the system does not know the user, whom the service lists"
    case .noSuchGroup(let name): "the system does not know the group \(name)"
    case .groupsNotWhole: "the system does not list all groups of the user"
    }
  }
}

extension SystemUser {
  /// The most groups of a user that are read.
  private static let greatestGroups = 4_096

  /// Whether the user is a member of the group, by getgrouplist(3).
  ///
  /// - Throws: if the system does not answer, or does not know the group. glibc also says "not found" if a source
  ///   before the last one is out of reach.
  public func isMember(ofGroup name: String) throws(UserLookupError) -> Bool {
    guard let own = try SystemEntry.user({ getpwnam_r(self.name.text, $0, $1, $2, $3) }), own.user.uid == uid else {
      throw .changed
    }
    guard let group = try SystemEntry.group(named: name) else { throw .noSuchGroup(name) }
    var ids = [gid_t](repeating: 0, count: Self.greatestGroups)
    var count = Int32(ids.count)
    guard getgrouplist(self.name.text, own.group, &ids, &count) >= 0 else { throw .system(ERANGE) }
    if ids.prefix(Int(count)).contains(group.id) { return true }
    // getgrouplist(3) leaves out groups that it could not look up, and returns no error.
    guard !group.members.contains(where: { $0.utf8.elementsEqual(self.name.text.utf8) }) else { throw .groupsNotWhole }
    return false
  }
}

/// Looks up entries of users and groups. An entry exists, does not exist, or is not known.
private enum SystemEntry {
  /// Buffer sizes for one entry in bytes. A group's entry has all its members.
  private static let sizes = [4_096, 65_536, 1_048_576, 16_777_216]

  static func user(
    _ ask: (
      UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32
  ) throws(UserLookupError) -> (user: SystemUser, group: gid_t)? {
    func read(_ entry: passwd) throws(UserLookupError) -> (user: SystemUser, group: gid_t) {
      guard let spelled = entry.pw_name, let name = UnixUsername(validating: String(cString: spelled)) else {
        throw .nameNotUsable
      }
      return (SystemUser(name: name, uid: entry.pw_uid), entry.pw_gid)
    }
    return try find(passwd(), ask, read)
  }

  static func group(named name: String) throws(UserLookupError) -> (id: gid_t, members: [String])? {
    func read(_ entry: Glibc.group) -> (id: gid_t, members: [String]) {
      var members: [String] = []
      var next = entry.gr_mem
      // SAFETY: glibc ends the list by a null pointer, and its texts stand in the buffer, which outlives this call.
      while let place = next, let member = place.pointee {
        members.append(String(cString: member))
        next = place + 1
      }
      return (entry.gr_gid, members)
    }
    return try find(Glibc.group(), { getgrnam_r(name, $0, $1, $2, $3) }, read)
  }

  /// Nil only if glibc says that there is no such entry: it returns 0 then (NSS_STATUS_NOTFOUND in its
  /// nss/getXXbyYY_r.c).
  ///
  /// Every other number is a failure, even those that getpwnam(3) lists as "not found". glibc returns the errno of a
  /// source that is out of reach: ENOENT or EPERM for a daemon's socket, and EBADF or EMFILE if descriptors ran out.
  private static func find<Entry, Value>(
    _ blank: Entry,
    _ ask: (
      UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> Int32,
    _ read: (Entry) throws(UserLookupError) -> Value
  ) throws(UserLookupError) -> Value? {
    for size in sizes {
      var entry = blank
      var found: UnsafeMutablePointer<Entry>?
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      // A source may fail without setting errno. 0 would then mean that the entry does not exist.
      errno = EIO
      // SAFETY: glibc writes `size` bytes at most, and the entry points into the buffer, which lives until it is read.
      let outcome = ask(&entry, buffer, size, &found)
      switch outcome {
      case 0: return found == nil ? nil : try read(entry)
      case ERANGE: continue
      default: throw .system(outcome)
      }
    }
    throw .system(ERANGE)
  }
}
