import Glibc

/// The status of a forked process that has ended, as waitpid(2) gives it: 0 if it called `_exit(0)`.
///
/// A child of a process with threads may hang in a lock that another thread held when it was forked. Such a child is
/// killed, so that it costs its own test and not all tests of the program.
///
/// - Parameter seconds: generous; a busy machine may take some.
/// - Returns: nil if there is no such child, or if it did not end in time.
@discardableResult
public func ended(_ child: pid_t, within seconds: Int = 120) -> Int32? {
  guard child > 0 else { return nil }
  var status: Int32 = 0
  for _ in 0..<seconds * 100 {
    let found = waitpid(child, &status, WNOHANG)
    guard found == 0 else { return found == child ? status : nil }
    usleep(10_000)
  }
  kill(child, SIGKILL)
  waitpid(child, nil, 0)
  return nil
}
