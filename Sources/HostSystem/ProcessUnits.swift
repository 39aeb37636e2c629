/// The units of systemd's that a process runs in, by its control groups (cgroups(7)).
///
/// The kernel says them, and a user cannot leave the groups of a login session for those of another.
public struct ProcessUnits: Sendable, Equatable {
  private static let greatestSize = 4_096

  private let names: Set<String>

  /// Those of a running process; no unit at all if that cannot be read.
  public init(of pid: Int32) {
    self.init(groups: pid > 0 ? ProcessFile.read("/proc/\(pid)/cgroup", limit: Self.greatestSize) ?? [] : [])
  }

  /// - Parameter groups: `/proc/PID/cgroup`. A text that may have been cut names no unit.
  public init(groups: [UInt8]) {
    guard groups.count < Self.greatestSize else {
      names = []
      return
    }
    let parts = groups.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\n") }
    names = Set(parts.map { String(decoding: $0, as: UTF8.self) })
  }

  public func contains(_ unit: String) -> Bool { names.contains(unit) }
}
