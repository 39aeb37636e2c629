import CHost
import Glibc
import HostSystem

/// Makes Ctrl-C and its kind something that waits can look at: nothing is left half done, and no terminal without echo.
public final class Interrupt {
  /// 128 + SIGINT, as shells say it.
  public static let exitCode: Int32 = 130

  /// Readable when a signal is there.
  public let descriptor: Int32

  /// - Parameter numbers: the signals, which are blocked from now on.
  public init(_ numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]) {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers { sigaddset(&signals, number) }
    sigprocmask(SIG_BLOCK, &signals, nil)
    descriptor = signalfd(-1, &signals, Int32(SFD_CLOEXEC))
  }

  deinit { close(descriptor) }

  /// Whether a signal is there.
  public func isPending() -> Bool { wait(milliseconds: 0) == .interrupted }

  /// What ended a wait.
  public enum Event { case timeOver, interrupted, input }

  /// Waits for a signal, for input where `input` is a descriptor, or for the time; nil: without end.
  public func wait(milliseconds: Int64?, input: Int32 = -1) -> Event {
    let end = milliseconds.map { MonotonicInstant.now().advanced(milliseconds: $0) }
    while true {
      let left = end.map { max(0, $0.milliseconds(since: .now())) } ?? 3_600_000
      var entries = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: input, events: Int16(POLLIN), revents: 0),
      ]
      let count = poll(&entries, 2, Int32(min(left, 3_600_000)))
      if entries[0].revents != 0 { return .interrupted }
      if count > 0, entries[1].revents != 0 { return .input }
      if end != nil, left == 0 { return .timeOver }
    }
  }
}
