/// The systemd units that a process runs in, by the path of its control group (cgroups(7)).
///
/// The kernel gives the path, and a user cannot move from the groups of one login session to those of another. But
/// users can make groups of any name below their own service manager. So a name counts only at the place where systemd
/// itself puts the unit.
public struct ProcessUnits: Sendable, Equatable {
  private static let greatestSize = 4_096

  /// A logind session, such as `/user.slice/user-1000.slice/session-3.scope`.
  public struct Session: Sendable, Equatable {
    /// The id in the unit's name.
    public let id: String
    public let uid: UInt32

    public init(id: String, uid: UInt32) {
      self.id = id
      self.uid = uid
    }
  }

  /// The session whose scope the process is in; nil outside any.
  public let session: Session?
  /// The user whose own service manager has started the process; nil for all other processes.
  public let managerUID: UInt32?

  /// The units of a running process; none if they cannot be read.
  public init(of pid: Int32) {
    self.init(groups: pid > 0 ? Self.groups(of: pid) : [], ofPID1: Self.groups(of: 1))
  }

  /// - Parameters:
  ///   - groups: the contents of `/proc/PID/cgroup`. A text that may be incomplete gives no units.
  ///   - first: the contents of `/proc/1/cgroup`. All units are beside PID 1's own, `init.scope`, which in some
  ///     containers is not at the root.
  public init(groups: [UInt8], ofPID1 first: [UInt8] = []) {
    var session: Session?
    var managerUID: UInt32?
    let roots = Self.paths(first).map { (kind: $0.kind, path: Self.root(of: $0.path)) }
    for (kind, path) in Self.paths(groups) {
      let root = roots.first { $0.kind == kind }?.path ?? ""
      guard path.hasPrefix(root + "/") else { continue }
      let units = path.dropFirst(root.count).split(separator: "/").map { String($0) }
      guard units.count >= 3, units[0] == "user.slice", let uid = Self.number(units[1], between: "user-", and: ".slice")
      else { continue }
      session = session ?? Self.name(units[2], between: "session-", and: ".scope").map { Session(id: $0, uid: uid) }
      if Self.number(units[2], between: "user@", and: ".service") == uid { managerUID = uid }
    }
    self.session = session
    self.managerUID = managerUID
  }

  private static func groups(of pid: Int32) -> [UInt8] {
    ProcessFile.read("/proc/\(pid)/cgroup", limit: greatestSize) ?? []
  }

  /// The paths in systemd's own hierarchies: `0::PATH`, and the older `1:name=systemd:PATH`.
  private static func paths(_ groups: [UInt8]) -> [(kind: Substring, path: Substring)] {
    guard groups.count < greatestSize else { return [] }
    return String(decoding: groups, as: UTF8.self).split(separator: "\n").compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[1].isEmpty || parts[1] == "name=systemd" else { return nil }
      return (parts[1], parts[2])
    }
  }

  /// - Parameter path: the path of PID 1's group, such as `/init.scope`.
  private static func root(of path: Substring) -> String {
    let own = "/init.scope"
    return path.hasSuffix(own) ? String(path.dropLast(own.count)) : ""
  }

  private static func name(_ unit: String, between start: String, and end: String) -> String? {
    guard unit.hasPrefix(start), unit.hasSuffix(end), unit.count > start.count + end.count else { return nil }
    return String(unit.dropFirst(start.count).dropLast(end.count))
  }

  /// Nil unless it has systemd's spelling: `user-01000.slice` is another unit.
  private static func number(_ unit: String, between start: String, and end: String) -> UInt32? {
    name(unit, between: start, and: end).flatMap { text in
      UInt32(text).flatMap { String($0) == text ? $0 : nil }
    }
  }
}
