import CHost
import Glibc

/// A process, by its pid and start time. A later process with the same pid is another one.
public struct ProcessIdentity: Sendable, Hashable {
  public let pid: Int32
  /// The start time in clock ticks after boot (proc(5), field 22 of `/proc/PID/stat`).
  public let startTime: UInt64

  public init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// Nil if there is no such process.
  public init?(pid: Int32) {
    guard let found = Self.look(at: pid) else { return nil }
    self = found.identity
  }

  /// The process and the letter of its state; nil if they cannot be read.
  private static func look(at pid: Int32) -> (identity: ProcessIdentity, state: UInt8)? {
    pid > 0 ? look(in: String(pid)) : nil
  }

  /// - Parameter folder: a process's folder in `/proc`.
  private static func look(in folder: String) -> (identity: ProcessIdentity, state: UInt8)? {
    guard let bytes = ProcessFile.read("/proc/\(folder)/stat", limit: 4_096),
      let pidEnd = bytes.firstIndex(of: UInt8(ascii: " ")),
      let pid = Int32(String(decoding: bytes[..<pidEnd], as: UTF8.self)),
      // The name in parentheses may contain spaces and parentheses.
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    // After the name comes field 3.
    guard fields.count > 19, let state = fields[0].first,
      let start = UInt64(String(decoding: fields[19], as: UTF8.self))
    else { return nil }
    return (ProcessIdentity(pid: pid, startTime: start), state)
  }

  /// This process. Nil if `/proc` is missing or belongs to another pid namespace, in which another process has our
  /// number.
  public static func current() -> ProcessIdentity? {
    guard let found = look(in: "self"), found.identity.pid == getpid() else { return nil }
    return found.identity
  }

  /// The parent. A parent outside of this pid namespace has no number here, as after nsenter(1) and in a container's
  /// exec. Then this is the process itself. Nil if neither is known.
  public static func parent() -> ProcessIdentity? {
    guard let own = current() else { return nil }
    let number = getppid()
    return number == 0 ? own : ProcessIdentity(pid: number)
  }

  public enum Presence: Sendable, Equatable {
    case alive
    case gone
    /// `/proc` cannot be read (no descriptor left, a `hidepid` mount).
    case unknown
  }

  /// Whether this very process still runs. A zombie counts as gone.
  public var presence: Presence {
    if let found = Self.look(at: pid) {
      let hasEnded = found.state == UInt8(ascii: "Z") || found.state == UInt8(ascii: "X")
      return found.identity == self && !hasEnded ? .alive : .gone
    }
    let held = iampass_pidfd_open(pid)
    if held >= 0 { close(held) }
    return held < 0 && errno == ESRCH ? .gone : .unknown
  }

  /// Whether the process is known to run.
  public var isAlive: Bool { presence == .alive }
}

/// Reads small files of the kernel and of systemd, without a check of their owner.
public enum ProcessFile {
  /// At most `limit` bytes of the file; nil if it cannot be read.
  public static func read(_ path: String, limit: Int) -> [UInt8]? {
    let descriptor = iampass_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: limit)
    var filled = 0
    while filled < limit {
      // SAFETY: `filled` is less than the count, so that the pointer stays inside.
      let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + filled, limit - filled) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      filled += count
    }
    return Array(bytes.prefix(filled))
  }
}

/// The time since boot, suspended or not. Ages of files in /run are measured by it.
public enum BootTime {
  public static func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  public static func seconds() -> Int64 { milliseconds() / 1_000 }
}
