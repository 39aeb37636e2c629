import CHost
import Glibc
import HostSystem
import IAMPASSClient
import WorkerLink

/// Ctrl-C and its kind as something that waits can look at: nothing is left half done, and no terminal without echo.
final class Interrupt: Interruption {
  /// 128 + SIGINT, as shells say it.
  static let exitCode: Int32 = 130

  let descriptor: Int32

  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&signals, number) }
    sigprocmask(SIG_BLOCK, &signals, nil)
    descriptor = signalfd(-1, &signals, Int32(SFD_CLOEXEC))
  }

  deinit { close(descriptor) }

  func isPending() -> Bool { wait(milliseconds: 0) == .interrupted }

  enum Event { case timeOver, interrupted, input }

  /// Waits for a signal, for input where `input` is a descriptor, or for the time; nil: without end.
  func wait(milliseconds: Int64?, input: Int32 = -1) -> Event {
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
