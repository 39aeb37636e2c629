import HostState
import HostSystem

/// The session's processes, terminals and tickets on this computer.
public final class SystemSeat: Seat {
  /// The most processes that are searched for a locker, newest first. A user may have thousands.
  private static let greatestCount = 1_000
  /// Bytes of a locker's command line. A longer one does not count as a locker's.
  private static let greatestLine = 16_384

  public init() {}

  public func say(_ line: String, inSession id: String, of uid: UInt32) {
    guard let processes = try? SessionScope(id: id, uid: uid)?.processes() else { return }
    SessionTerminals().tell(line, to: processes, of: uid)
  }

  public func dropTickets(of user: SystemUser) -> [FileError] { SudoTickets.drop(of: user) }

  public func hasProcesses(inSession id: String, of uid: UInt32) -> Bool {
    guard let scope = SessionScope(id: id, uid: uid) else { return false }
    // A scope that cannot be read counts: the worst result is that the scope is killed.
    return (try? scope.processes().isEmpty) != true
  }

  public func rest(ofSession id: String, of uid: UInt32, leader: ProcessIdentity) -> SessionRest {
    // Without a service manager there are no scopes.
    guard let scope = SessionScope(id: id, uid: uid) else { return .nothing }
    guard let processes = try? scope.processes() else { return .unclear }
    return SessionRest(of: processes, leader: leader)
  }

  public func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool {
    guard let processes = try? SessionScope(id: id, uid: uid)?.processes() else { return false }
    return processes.contains(process.pid) && process.isAlive
  }

  public func locker(inSession id: String, of uid: UInt32) -> RunningLocker? {
    guard let processes = try? SessionScope(id: id, uid: uid)?.processes() else { return nil }
    return Self.locker(among: processes)
  }

  static func locker(among processes: [Int32]) -> RunningLocker? {
    for pid in processes.sorted().suffix(Self.greatestCount) {
      guard let bytes = ProcessFile.read("/proc/\(pid)/comm", limit: 64) else { continue }
      let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
      guard ServiceTable.row(name)?.lockSign == .runs,
        let line = ProcessFile.read("/proc/\(pid)/cmdline", limit: Self.greatestLine), !line.isEmpty,
        line.count < Self.greatestLine, LockerOptions.lock(name, arguments: line),
        let process = ProcessIdentity(pid: pid)
      else { continue }
      return RunningLocker(name: name, process: process)
    }
    return nil
  }
}
