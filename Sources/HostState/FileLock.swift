import CHost
import Glibc

/// An exclusive flock(2), waited for a bounded time.
enum FileLock {
  /// Sign-ins hold it for well under a millisecond; who holds it longer is stuck.
  static let greatestWaitMilliseconds = 1_000

  static func take(_ descriptor: Int32, path: String) throws(FileError) {
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
