import CHost
import Glibc
import HostSystem
import IAMPASSClient
import WorkerLink

/// Notices Ctrl-C and similar signals, and the end of an ssh client, while the module waits. There is no handler: the
/// signals are blocked in this thread and seen by a descriptor. They stay pending for the host, which gets them when
/// the module returns.
///
/// sudo blocks SIGINT while PAM runs; other hosts leave it at its default, which would end them before the request is
/// cancelled at the service. Signals that the host ignores are left alone: if they were blocked, they would become
/// pending.
///
/// One ignored signal still counts: the terminal's own interrupt. An ancestor may have left SIGINT ignored (`trap ''
/// INT`, or a background command of a script). Otherwise a user who presses Ctrl-C would have to wait until the time is
/// up.
final class SignalWatch: Interruption {
  let descriptor: Int32
  /// The signals that are blocked during the wait.
  private var blocked = sigset_t()
  private var before = sigset_t()
  private var hasEnded = false
  private let signals: [Int32]
  /// The host's ssh client; nil if it is not known.
  private let client: ClientWatch?
  /// Whether SIGINT is ignored. The watch then takes the signal, to see its sender, and restores it at the end.
  private let ignoresInterrupt = iampass_ignores(SIGINT) != 0
  private var taken: siginfo_t?
  private var hasTerminalInterrupted = false

  init(client: ClientWatch? = nil) {
    self.client = client
    signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { iampass_ignores($0) == 0 }
    var watched = sigset_t()
    sigemptyset(&watched)
    for signal in signals { sigaddset(&watched, signal) }
    blocked = watched
    if ignoresInterrupt { sigaddset(&blocked, SIGINT) }
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    // Without a descriptor (EMFILE) ``isPending()`` still notices signals, a little later.
    let made = signalfd(-1, &watched, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    // In a host that has closed stdin, stdout or stderr, our descriptor must not take their place.
    descriptor = made < 0 ? -1 : iampass_duplicate_above(made, 10)
    if made >= 0 { close(made) }
  }

  deinit { end() }

  func isPending() -> Bool {
    var pending = sigset_t()
    if ignoresInterrupt, isTerminalsInterruptPending() { return true }
    if sigpending(&pending) == 0, signals.contains(where: { sigismember(&pending, $0) == 1 }) { return true }
    return client?.hasLeft == true
  }

  private func isTerminalsInterruptPending() -> Bool {
    var info = siginfo_t()
    while iampass_take_signal(SIGINT, &info) != 0 {
      taken = info
      // If a process sent the signal, the host ignores it, and so does the module.
      if iampass_is_kernels(&info) != 0 { hasTerminalInterrupted = true }
    }
    return hasTerminalInterrupted
  }

  /// Runs `body` with the host's own mask.
  func released<Result>(_ body: () -> Result) -> Result {
    pthread_sigmask(SIG_SETMASK, &before, nil)
    defer { pthread_sigmask(SIG_BLOCK, &blocked, nil) }
    return body()
  }

  /// Restores the mask. The host now gets pending signals.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    if descriptor >= 0 { close(descriptor) }
    // A host that had blocked SIGINT finds it pending. For other hosts it was never pending.
    if var taken, sigismember(&before, SIGINT) == 1 { _ = iampass_put_back_signal(SIGINT, &taken) }
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}

/// The monotonic clock, and pauses that an interruption ends.
struct HostClock: LoginClock {
  /// The time between two checks for pending signals without a descriptor, in milliseconds.
  private static let slice: Int64 = 100

  let signals: SignalWatch

  func now() -> MonotonicInstant { .now() }

  func pause(milliseconds: Int64) -> Bool {
    let end = now().advanced(milliseconds: milliseconds)
    while true {
      if signals.isPending() { return true }
      let left = end.milliseconds(since: now())
      guard left > 0 else { return false }
      var watched = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
      iampass_clear_vector_registers()
      _ = poll(&watched, 1, Int32(min(left, Self.slice)))
    }
  }
}
