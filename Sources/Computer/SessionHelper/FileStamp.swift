import Glibc

/// Values that differ between a file and the file that replaces it.
struct FileStamp: Equatable {
  private let device: UInt
  private let inode: UInt
  private let size: Int
  private let seconds: Int
  private let nanoseconds: Int

  /// Nil if there is no file at the path.
  init?(path: String) {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    device = UInt(found.st_dev)
    inode = UInt(found.st_ino)
    size = Int(found.st_size)
    seconds = found.st_ctim.tv_sec
    nanoseconds = found.st_ctim.tv_nsec
  }
}
