import CHost
import Glibc
import HostSystem
import IAMPASSClient
import WorkerLink

/// Notices Ctrl-C and its like while the module waits, and that the client of an sshd has gone. There is no handler: the
/// signals are blocked in this thread, seen by a descriptor, and left pending for the host, which gets them when the
/// module returns.
///
/// sudo blocks SIGINT while PAM runs; other hosts leave it at its default, which would end them before the request is
/// cancelled at the service. Signals that the host ignores are left alone: blocked, they would be pending all the same.
///
/// One ignored signal counts all the same: the terminal's own interrupt. An ancestor can have left SIGINT ignored
/// (`trap '' INT`, a command in a script's background). A user who presses Ctrl-C would wait until the time is up.
final class SignalWatch: Interruption {
  let descriptor: Int32
  /// Blocked during the wait.
  private var blocked = sigset_t()
  private var before = sigset_t()
  private var hasEnded = false
  private let signals: [Int32]
  /// Nil if no client of the host can be seen.
  private let client: ClientWatch?
  /// Whether SIGINT is ignored. The watch then takes the signal, to see who sent it, and puts it back at the end.
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
    // Without a descriptor (EMFILE) ``isPending()`` still tells, a little later.
    let made = signalfd(-1, &watched, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    // A host with stdin, stdout or stderr closed would find our descriptor there.
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
      // A process sent the signal: the host ignores it, and so does its module.
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

  /// Gives the mask back; what is pending reaches the host now.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    if descriptor >= 0 { close(descriptor) }
    // A host that had blocked SIGINT finds it pending; for any other host it would never have been pending.
    if var taken, sigismember(&before, SIGINT) == 1 { _ = iampass_put_back_signal(SIGINT, &taken) }
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}

/// The monotonic clock, and pauses that an interruption ends.
struct HostClock: LoginClock {
  /// Without a descriptor the pending signals are looked at this often, in milliseconds.
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
