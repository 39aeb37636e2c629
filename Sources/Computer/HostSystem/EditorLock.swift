import CHost
import Glibc

/// The lock of those who change one file: held while this object lives.
package final class EditorLock {
  private let descriptor: Int32

  /// Waits for another editor, a second at most.
  ///
  /// - Parameter path: the file that is to be changed. The lock stands beside it and stays there.
  package init(of path: String) throws(FileError) {
    // A lock file that only root can open: anyone may lock a folder that they can read.
    let lock = path + ".lock"
    descriptor = iampass_open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SecureFile.openError(lock) }
    try FileLock.take(descriptor, path: lock)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
