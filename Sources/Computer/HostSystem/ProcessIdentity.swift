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
    pid > 0 ? look(in: String(pid)) : nil
  }

  /// - Parameter folder: of `/proc`.
  private static func look(in folder: String) -> (identity: ProcessIdentity, state: UInt8)? {
    guard let bytes = ProcessFile.read("/proc/\(folder)/stat", limit: 4_096),
      let pidEnd = bytes.firstIndex(of: UInt8(ascii: " ")),
      let pid = Int32(String(decoding: bytes[..<pidEnd], as: UTF8.self)),
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

  /// This process. Nil where `/proc` is missing, or is another pid namespace's: a stranger has our number there.
  public static func current() -> ProcessIdentity? {
    guard let found = look(in: "self"), found.identity.pid == getpid() else { return nil }
    return found.identity
  }

  /// The parent. A parent outside of this pid namespace has no number here (as after nsenter(1), and in a container's
  /// exec): then this process itself, so that it stands alone. Nil where neither can be known.
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
