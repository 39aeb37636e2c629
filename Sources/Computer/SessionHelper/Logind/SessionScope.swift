import CHost
import Glibc
import HostState
import HostSystem

/// The control group of a session's scope, which lists its processes.
public struct SessionScope: Sendable {
  /// Deeper than the groups that programs make in a session.
  private static let greatestDepth = 16
  /// Bytes of one group's list: 30,000 processes.
  private static let greatestList = 1 << 18

  /// The scope's name, such as `session-3.scope`.
  public let unit: String
  /// The folder of the scope's group. The folder may be gone.
  let folder: String

  /// Nil if the session's scope has another name than logind gives: then its processes are unknown.
  ///
  /// - Parameter hierarchy: the folder of the service manager's groups.
  public init?(_ session: LogindSession, hierarchy: String? = SessionScope.hierarchy()) {
    guard session.scope == Self.unit(of: session.id) else { return nil }
    self.init(id: session.id, uid: session.uid, hierarchy: hierarchy)
  }

  /// The scope of a session that logind may have forgotten.
  public init?(id: String, uid: UInt32, hierarchy: String? = SessionScope.hierarchy()) {
    guard LogindSession.isID(id), let hierarchy else { return nil }
    unit = Self.unit(of: id)
    // logind puts each scope into its user's slice.
    folder = "\(hierarchy)/user.slice/user-\(uid).slice/\(unit)"
  }

  static func unit(of id: String) -> String { "session-\(id).scope" }

  /// Whether this is the name of a session's scope.
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

  /// Whether processes are left in the scope of a session of this id, of any user.
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

  /// Names of the folders in a folder; none if the folder is gone. A group can be removed at any time.
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

  /// ENODEV: the group was removed after its list was opened.
  private static func isGone(_ number: Int32) -> Bool { number == ENOENT || number == ENODEV }
}

extension SessionScope {
  /// The folder of the service manager's groups. It is the group of PID 1, which in some containers is not the root.
  /// Nil if that group is not found.
  ///
  /// - Parameters:
  ///   - mount: a unified hierarchy (control groups 2), or the folder of older hierarchies with systemd's among them.
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
