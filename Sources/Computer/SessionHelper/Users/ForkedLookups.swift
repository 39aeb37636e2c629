import CHost
import Glibc
import HostSystem

/// What a look-up has told.
struct LookupAnswer: Equatable {
  /// All that was told in time, in order.
  var bytes: [UInt8] = []
  /// Whether the look-up came to its end in time. Otherwise what is missing is unknown.
  var isWhole = false
}

/// Asks the system about users, for a bounded time: a directory of users may be slow, or never answer.
protocol UserLookups: AnyObject {
  /// - Parameter work: looks users up and tells what it finds. It may run in another process, so that nothing but what
  ///   it tells lasts.
  func answer(_ work: (_ tell: ([UInt8]) -> Void) -> Void) -> LookupAnswer
}

/// Looks users up in a process of its own, which is killed if the system does not answer.
///
/// getpwnam(3) has no time limit, and the thread that calls it watches nothing meanwhile. A process can be ended, and an
/// answer that would come too late ends with it. The helper has one thread, so the process may do anything after fork(2).
final class ForkedLookups: UserLookups {
  /// The longest time for one answer, in milliseconds. The helper does nothing meanwhile. The unit's WatchdogSec, after
  /// which systemd ends the helper, is 30 s.
  static let greatestTime: Int64 = 2_000
  /// The most bytes of an answer. A longer one is not whole.
  private static let greatestSize = 65_536
  /// How long a killed process may take to end, in milliseconds.
  private static let endingTime: Int64 = 100
  /// The time between two looks at that process, in microseconds.
  private static let step: UInt32 = 1_000

  private let milliseconds: Int64
  /// A killed process that has not ended yet: the kernel waits for a disk or a network. No other one begins meanwhile.
  private var stuck: pid_t?

  /// - Parameter milliseconds: the time for each answer.
  init(milliseconds: Int64 = ForkedLookups.greatestTime) { self.milliseconds = milliseconds }

  func answer(_ work: (_ tell: ([UInt8]) -> Void) -> Void) -> LookupAnswer {
    var ends: [Int32] = [-1, -1]
    guard isFree, pipe(&ends) == 0 else { return LookupAnswer() }
    // A program that a module of the system's starts must not keep the pipe open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (reading, writing) = (ends[0], ends[1])
    defer { close(reading) }
    let deadline = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    let helper = getpid()
    let child = iampass_fork()
    guard child != 0 else {
      // It ends with the helper. If the helper ended before prctl(2), this process already has another parent.
      guard iampass_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) == 0, getppid() == helper else { _exit(EX_OSERR) }
      work { bytes in
        if WholeText.write(bytes, to: writing) != nil { _exit(EX_OSERR) }
      }
      _exit(EX_OK)
    }
    close(writing)
    guard child > 0 else { return LookupAnswer() }
    var answer = LookupAnswer()
    let hasToldAll = Self.read(reading, into: &answer.bytes, by: deadline)
    if !hasToldAll { kill(child, SIGKILL) }
    answer.isWhole = hasExited(child, by: deadline) && hasToldAll
    return answer
  }

  /// Whether no earlier process is left.
  private var isFree: Bool {
    guard let process = stuck else { return true }
    guard waitpid(process, nil, WNOHANG) != 0 else { return false }
    stuck = nil
    return true
  }

  /// Reads until the other end is closed; false if that takes too long or is too much.
  private static func read(_ descriptor: Int32, into bytes: inout [UInt8], by deadline: MonotonicInstant) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while bytes.count <= greatestSize {
      let left = deadline.milliseconds(since: .now())
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard left > 0 else { return false }
      let ready = poll(&entry, 1, Int32(clamping: left))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { return false }
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 }
      bytes += chunk[..<count]
    }
    return false
  }

  /// Whether the process has exited with 0. One that does not end is killed and remembered.
  private func hasExited(_ child: pid_t, by deadline: MonotonicInstant) -> Bool {
    let end = max(deadline, MonotonicInstant.now().advanced(milliseconds: Self.endingTime))
    var status: Int32 = 0
    while true {
      let found = waitpid(child, &status, WNOHANG)
      if found == child { return status == 0 }
      guard found == 0 else { return false }
      guard MonotonicInstant.now() < end else { break }
      usleep(Self.step)
    }
    // It was not waited for, so its number is not reused.
    kill(child, SIGKILL)
    stuck = child
    return false
  }
}
