import CHost
import Glibc

/// Makes changes of a folder durable: names that were made, renamed or removed survive a power cut.
package enum FolderFlush {
  package static func flush(_ folder: String) throws(FileError) {
    let descriptor = iampass_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError(.system(errno), path: folder) }
  }

  /// Flushes a folder, for an order of files. A file system that cannot flush folders answers EINVAL (fsync(2)), which
  /// passes: there a computer could otherwise not be set up. What may be used only once takes ``flush(_:)``.
  package static func settle(_ folder: String) throws(FileError) {
    do { try flush(folder) } catch {
      guard error.code == .system(EINVAL) else { throw error }
    }
  }

  /// Flushes the folder of a file, then the folders above it.
  ///
  /// - Parameter top: the last one.
  package static func settleName(
    of path: String, upTo top: String, by settle: (String) throws(FileError) -> Void = FolderFlush.settle
  ) throws(FileError) {
    var folder = SecureFile.folder(of: path)
    try settle(folder)
    while folder.utf8.count > top.utf8.count {
      folder = SecureFile.folder(of: folder)
      try settle(folder)
    }
  }
}
