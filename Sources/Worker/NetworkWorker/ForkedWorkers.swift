import CHost
import Glibc
import HostSystem
import WorkerLink

/// The forked workers that have not been waited for.
final class ForkedWorkers {
  /// Readable when a worker has ended.
  let descriptor: Int32
  /// The time at which each worker is killed.
  private var ends: [pid_t: MonotonicInstant] = [:]

  /// Milliseconds beyond the worker's own time.
  private static let grace: Int64 = 10_000
  /// Signals that end a faultless worker: from this process, from someone else, or at a login's time limit.
  private static let harmless = [SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGXCPU]

  init() throws(Confinement.Failure) {
    var ended = Self.ended
    guard sigprocmask(SIG_BLOCK, &ended, nil) == 0 else { throw .notConfined }
    descriptor = signalfd(-1, &ended, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    guard descriptor >= 0 else { throw .notConfined }
  }

  var count: Int { ends.count }

  /// The time until a worker must be killed; -1 without workers.
  var milliseconds: Int32 {
    guard let next = ends.values.min() else { return -1 }
    return Int32(clamping: max(0, next.milliseconds(since: .now())))
  }

  private static var ended: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGCHLD)
    return set
  }

  /// - Returns: true in the child; false in the parent, even if the fork failed.
  func fork() throws(Confinement.Failure) -> Bool {
    let child = iampass_fork()
    if child > 0 {
      let time = Int64(WorkerSettings.loginLifetime) * 1_000 + Self.grace
      ends[child] = .now().advanced(milliseconds: time)
    }
    guard child == 0 else { return false }
    close(descriptor)
    // This process writes to the log. A worker, which speaks to the network, must not.
    let nowhere = iampass_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
    var ended = Self.ended
    guard nowhere >= 0, (0...2).allSatisfy({ dup2(nowhere, $0) == $0 }), sigprocmask(SIG_UNBLOCK, &ended, nil) == 0
    else { throw .notConfined }
    if nowhere > 2 { close(nowhere) }
    return true
  }

  /// Waits for ended workers, and kills overdue ones.
  func reap() throws(Confinement.Failure) {
    var signal = signalfd_siginfo()
    while read(descriptor, &signal, MemoryLayout<signalfd_siginfo>.size) > 0 {}
    let now = MonotonicInstant.now()
    // This worker has not been waited for, so that its number is still its own.
    for (child, end) in ends where now >= end {
      kill(child, SIGKILL)
      // A worker stuck in the kernel is looked at later, not at once.
      ends[child] = now.advanced(milliseconds: Self.grace)
    }
    var status: Int32 = 0
    while case let child = waitpid(-1, &status, WNOHANG), child > 0 {
      ends[child] = nil
      let signal = status & 0x7F
      guard signal == 0 || Self.harmless.contains(signal) else { throw .workerCrashed }
    }
  }
}
