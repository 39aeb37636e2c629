import Glibc

/// Makes changes of a folder durable: names that were made, renamed or removed survive a power cut.
enum FolderSync {
  /// - Returns: false with errno if that failed.
  static func flush(_ folder: String) -> Bool {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }
}
