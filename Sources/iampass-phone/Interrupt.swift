import CHost
import Glibc
import HostSystem
import IAMPASSClient
import WorkerLink

/// Makes Ctrl-C and SIGTERM something to wait for. Otherwise they would end the program in the middle of a request.
final class Interrupt: Interruption {
  /// 128 + SIGINT, as in shells.
  static let exitCode: Int32 = 130

  let descriptor: Int32

  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    sigprocmask(SIG_BLOCK, &signals, nil)
    descriptor = signalfd(-1, &signals, Int32(SFD_CLOEXEC))
    // A reader that closes our output must not leave a request half answered.
    signal(SIGPIPE, SIG_IGN)
  }

  deinit { close(descriptor) }

  func isPending() -> Bool { wait(milliseconds: 0) == .interrupted }

  enum Event { case timeOver, interrupted, input }

  /// Waits for a signal, for input if `input` is a descriptor, or for the time.
  func wait(milliseconds: Int64, input: Int32 = -1) -> Event {
    let end = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    while true {
      let left = max(0, end.milliseconds(since: .now()))
      var entries = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: input, events: Int16(POLLIN), revents: 0),
      ]
      let count = poll(&entries, 2, Int32(min(left, 3_600_000)))
      if entries[0].revents != 0 { return .interrupted }
      if count > 0, entries[1].revents != 0 { return .input }
      if left == 0 { return .timeOver }
    }
  }
}
