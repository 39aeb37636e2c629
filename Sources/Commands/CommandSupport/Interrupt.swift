import CHost
import Glibc
import HostSystem

/// Turns Ctrl-C and similar signals into an event that waits can check. So no change is left half done, and no terminal
/// is left without echo.
public final class Interrupt {
  /// The exit code 128 + SIGINT, as in shells.
  public static let exitCode: Int32 = 130

  /// Readable when a signal has come.
  public let descriptor: Int32

  /// - Parameter numbers: the signals. They are blocked from now on.
  public init(_ numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]) {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers { sigaddset(&signals, number) }
    sigprocmask(SIG_BLOCK, &signals, nil)
    descriptor = signalfd(-1, &signals, Int32(SFD_CLOEXEC))
  }

  deinit { close(descriptor) }

  /// Whether a signal has come.
  public func isPending() -> Bool { wait(milliseconds: 0) == .interrupted }

  /// What ended a wait.
  public enum Event { case timeOver, interrupted, input }

  /// Waits for a signal, for the end of the time (nil: without a bound) or, if `input` is a descriptor, for input.
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
