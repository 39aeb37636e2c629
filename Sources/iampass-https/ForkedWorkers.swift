import CHost
import Glibc
import IAMPASSClient

/// The workers that were forked, and not buried yet.
final class ForkedWorkers {
  /// Readable when one has ended.
  let descriptor: Int32
  /// When each is killed that has not ended by itself.
  private var ends: [pid_t: MonotonicInstant] = [:]

  /// Beyond its own time, in ms.
  private static let grace: Int64 = 10_000
  /// Signals by which a worker ends that did nothing wrong: this one's, somebody else's, or the limit of a login's time.
  private static let harmless = [SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGXCPU]

  init() throws(Confinement.Failure) {
    var ended = Self.ended
    guard sigprocmask(SIG_BLOCK, &ended, nil) == 0 else { throw .notConfined }
    descriptor = signalfd(-1, &ended, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    guard descriptor >= 0 else { throw .notConfined }
  }

  var count: Int { ends.count }

  /// Until one must be killed; -1: none is there.
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

  /// - Returns: true in the child; false in the parent, whether there is one or not.
  func fork() throws(Confinement.Failure) -> Bool {
    let child = iampass_fork()
    if child > 0 {
      let time = Int64(WorkerSettings.loginLifetime) * 1_000 + Self.grace
      ends[child] = .now().advanced(milliseconds: time)
    }
    guard child == 0 else { return false }
    close(descriptor)
    // What this process says goes to the log; what speaks to the network says nothing there.
    let nowhere = iampass_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
    var ended = Self.ended
    guard nowhere >= 0, (0...2).allSatisfy({ dup2(nowhere, $0) == $0 }), sigprocmask(SIG_UNBLOCK, &ended, nil) == 0
    else { throw .notConfined }
    if nowhere > 2 { close(nowhere) }
    return true
  }

  /// Waits for those that have ended, and ends those that should have.
  func bury() throws(Confinement.Failure) {
    var told = signalfd_siginfo()
    while read(descriptor, &told, MemoryLayout<signalfd_siginfo>.size) > 0 {}
    let now = MonotonicInstant.now()
    // Not waited for yet: the number is still theirs.
    for (child, end) in ends where now >= end {
      kill(child, SIGKILL)
      // One that the kernel holds is looked at again, not at once.
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
