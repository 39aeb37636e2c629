import CHost
import Glibc

/// A process that a later one with the same number is not taken for: its pid and when it started.
public struct ProcessIdentity: Sendable, Hashable {
  public let pid: Int32
  /// Clock ticks after boot (proc(5), field 22 of `/proc/PID/stat`).
  public let startTime: UInt64

  public init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// Nil where there is no such process.
  public init?(pid: Int32) {
    guard let found = Self.look(at: pid) else { return nil }
    self = found.identity
  }

  /// With the state's letter; nil where that cannot be read.
  private static func look(at pid: Int32) -> (identity: ProcessIdentity, state: UInt8)? {
    guard pid > 0, let bytes = ProcessFile.read("/proc/\(pid)/stat", limit: 4_096),
      // The name in parentheses may itself hold spaces and parentheses.
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    // After the name comes field 3.
    guard fields.count > 19, let state = fields[0].first,
      let start = UInt64(String(decoding: fields[19], as: UTF8.self))
    else { return nil }
    return (ProcessIdentity(pid: pid, startTime: start), state)
  }

  public static func current() -> ProcessIdentity? { ProcessIdentity(pid: getpid()) }

  public static func parent() -> ProcessIdentity? { ProcessIdentity(pid: getppid()) }

  public enum Presence: Sendable, Equatable {
    case alive
    case gone
    /// `/proc` cannot be read (no descriptor left, a `hidepid` mount).
    case unknown
  }

  /// Whether that very process still runs. One that has ended and was not waited for is gone.
  public var presence: Presence {
    if let found = Self.look(at: pid) {
      let hasEnded = found.state == UInt8(ascii: "Z") || found.state == UInt8(ascii: "X")
      return found.identity == self && !hasEnded ? .alive : .gone
    }
    let held = iampass_pidfd_open(pid)
    if held >= 0 { close(held) }
    return held < 0 && errno == ESRCH ? .gone : .unknown
  }

  /// Known to run.
  public var isAlive: Bool { presence == .alive }
}

/// Small files of the kernel's and of systemd's, which are read without looking at their owner.
public enum ProcessFile {
  /// At most `limit` bytes of the file; nil where it cannot be read.
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

/// Time since boot, suspended or not: ages of what lives in /run.
public enum BootTime {
  public static func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  public static func seconds() -> Int64 { milliseconds() / 1_000 }
}
