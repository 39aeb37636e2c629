import CHost
import Glibc
import HostState
import HostSystem

/// What still runs of a session: the control group of its scope.
public struct SessionScope: Sendable {
  /// Far deeper than anything makes groups in a session.
  private static let greatestDepth = 16
  /// Bytes of one group's list: 30,000 processes.
  private static let greatestList = 1 << 18

  /// `session-3.scope`.
  public let unit: String
  /// The folder of the scope's group, which may be gone.
  let folder: String

  /// Nil for a session whose scope is not the one that logind gives it: then nothing is known of its processes.
  ///
  /// - Parameter hierarchy: the folder that the service manager's groups stand in.
  public init?(_ session: LogindSession, hierarchy: String? = SessionScope.hierarchy()) {
    guard session.scope == Self.unit(of: session.id) else { return nil }
    self.init(id: session.id, uid: session.uid, hierarchy: hierarchy)
  }

  /// The scope of a session that logind may have forgotten.
  public init?(id: String, uid: UInt32, hierarchy: String? = SessionScope.hierarchy()) {
    guard LogindSession.isID(id), let hierarchy else { return nil }
    unit = Self.unit(of: id)
    // Made by logind, which puts a scope into its user's slice and nowhere else.
    folder = "\(hierarchy)/user.slice/user-\(uid).slice/\(unit)"
  }

  static func unit(of id: String) -> String { "session-\(id).scope" }

  /// Whether this names some session's scope.
  static func isUnit(_ name: String) -> Bool {
    guard name.hasPrefix("session-"), name.hasSuffix(".scope"), name.utf8.count > "session-.scope".utf8.count else {
      return false
    }
    return LogindSession.isID(String(name.dropFirst("session-".count).dropLast(".scope".count)))
  }

  /// The processes of the scope and of the groups in it; none if the scope is gone.
  public func processes() throws(FileError) -> [Int32] {
    var found: [Int32] = []
    try Self.collect(folder, depth: 0, into: &found)
    return found
  }

  /// Whether processes are left in the scope of a session of this id, whosever it is.
  static func isRunning(_ id: String, hierarchy: String) throws(FileError) -> Bool {
    var found: [Int32] = []
    let users = hierarchy + "/user.slice"
    for slice in try folders(in: users) where slice.hasPrefix("user-") && slice.hasSuffix(".slice") {
      try collect("\(users)/\(slice)/\(unit(of: id))", depth: 0, into: &found)
    }
    return !found.isEmpty
  }

  private static func collect(_ folder: String, depth: Int, into found: inout [Int32]) throws(FileError) {
    guard depth < Self.greatestDepth else { throw FileError(.tooLarge, path: folder) }
    let list = folder + "/cgroup.procs"
    if let bytes = ProcessFile.read(list, limit: Self.greatestList) {
      guard bytes.count < Self.greatestList else { throw FileError(.tooLarge, path: list) }
      // 0 stands for a process of another pid namespace.
      found += bytes.split(separator: UInt8(ascii: "\n")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        .filter { $0 > 0 }
    } else if !isGone(errno) {
      throw FileError(.system(errno), path: list)
    }
    for name in try folders(in: folder) { try collect(folder + "/" + name, depth: depth + 1, into: &found) }
  }

  /// Names of the folders in a folder; none if that is gone, as a group may while we look.
  private static func folders(in path: String) throws(FileError) -> [String] {
    guard let stream = opendir(path) else {
      if isGone(errno) { return [] }
      throw FileError(.system(errno), path: path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // SAFETY: readdir's entry holds a terminated name until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if entry.pointee.d_type == UInt8(DT_DIR), name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// ENODEV: the group went between opening its list and reading it.
  private static func isGone(_ number: Int32) -> Bool { number == ENOENT || number == ENODEV }
}

extension SessionScope {
  /// Where the service manager keeps its groups: below the group that PID 1 is in, which is not the root in some
  /// containers. Nil if that cannot be found.
  ///
  /// - Parameters:
  ///   - mount: a unified hierarchy (control groups 2), or the folder of the older ones, with systemd's among them.
  ///   - groups: `/proc/1/cgroup`, cgroups(7).
  public static func hierarchy(mount: String = "/sys/fs/cgroup", groups: String = "/proc/1/cgroup") -> String? {
    guard let bytes = ProcessFile.read(groups, limit: 16_384) else { return nil }
    let isUnified = access(mount + "/cgroup.controllers", F_OK) == 0
    // `0::/init.scope`, or `1:name=systemd:/init.scope`.
    let controllers = isUnified ? "" : "name=systemd"
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[1] == controllers, parts[2].hasSuffix("/init.scope") else { continue }
      return mount + (isUnified ? "" : "/systemd") + parts[2].dropLast("/init.scope".count)
    }
    return nil
  }
}
