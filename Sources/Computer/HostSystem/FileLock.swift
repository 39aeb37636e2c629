import CHost
import Glibc

/// An exclusive flock(2), waited for a bounded time.
///
/// Users can stop a su or sudo of their own while it holds a lock, for as long as they like. So locks are only for what
/// no other user's sign-in needs: the count of one source's requests, and what root alone opens. The helper waits for none.
package enum FileLock {
  /// Sign-ins hold it for well under a millisecond; whoever holds it longer is stuck.
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
