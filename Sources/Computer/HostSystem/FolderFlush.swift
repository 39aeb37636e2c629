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
}
