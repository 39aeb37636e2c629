import CHost
import Glibc

/// The lock for changes of one file. It is held while this object lives.
package final class EditorLock {
  private let descriptor: Int32

  /// Waits for another editor, a second at most.
  ///
  /// - Parameter path: the file that is to be changed. The lock file is beside it, and is not removed.
  package init(of path: String) throws(FileError) {
    // Only root can open the lock file. A folder could be locked by all who can read it.
    let lock = path + ".lock"
    descriptor = iampass_open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SecureFile.openError(lock) }
    try FileLock.take(descriptor, path: lock)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
