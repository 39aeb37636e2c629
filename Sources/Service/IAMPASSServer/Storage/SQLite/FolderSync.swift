import Glibc

/// Makes names durable: those that were made, renamed or removed in a folder survive a power cut afterwards.
enum FolderSync {
  /// - Returns: false with errno if that failed.
  static func flush(_ folder: String) -> Bool {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }
}
