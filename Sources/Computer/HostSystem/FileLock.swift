import CHost
import Glibc

/// An exclusive flock(2) with a bounded wait.
///
/// Users can stop their own su or sudo while it holds a lock, for any time. So a lock must not be one that other users'
/// sign-ins need: it is for the count of one source's requests, and for files that only root opens. The helper does not
/// wait for locks.
package enum FileLock {
  /// The longest wait. Sign-ins hold a lock for well under a millisecond, so a process that holds it longer hangs.
  static let greatestWaitMilliseconds = 1_000

  package static func take(_ descriptor: Int32, path: String) throws(FileError) {
    var waited = 0
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR, waited < greatestWaitMilliseconds else {
        throw FileError(.system(errno), path: path)
      }
      usleep(5_000)
      waited += 5
    }
  }
}
