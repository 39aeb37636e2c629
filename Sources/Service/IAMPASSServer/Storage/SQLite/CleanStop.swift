import Glibc

/// The mark of a clean stop of the service: the file `clean-stop` beside the database.
///
/// It has the state of the database's file and its log at that moment. So it does not count for a restored copy, or for
/// a file that was written to since. A start removes it, so that a crash leaves none.
public struct CleanStop: Sendable {
  /// The greatest size in bytes. A mark has three numbers for each file.
  private static let greatestSize = 256

  private let folder: String

  /// - Parameter folder: the data folder.
  public init(folder: String) { self.folder = folder }

  private var path: String { folder + "/clean-stop" }

  /// Removes the mark. Call it before the database is opened.
  ///
  /// - Returns: whether the database is unchanged since a clean stop.
  public func take() -> Bool {
    let (found, now) = (written, current)
    // A mark that stays would not match once the database has changed.
    guard unlink(path) == 0, FolderSync.flush(folder) else { return false }
    return found != nil && found == now
  }

  /// Writes the mark. Call it once the database is closed. Without it, the next start checks the file first.
  public func leave() {
    guard let now = current else { return }
    let partial = path + ".new"
    let descriptor = open(partial, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let isWritten = now.withCString { write(descriptor, $0, strlen($0)) == strlen($0) } && fsync(descriptor) == 0
    guard isWritten, rename(partial, path) == 0 else {
      unlink(partial)
      return
    }
    _ = FolderSync.flush(folder)
  }

  private var written: String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.greatestSize)
    let count = read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  /// The present state of the files; nil if there is no database.
  private var current: String? {
    guard let file = look(at: SQLiteStorage.fileName) else { return nil }
    return "\(file), \(look(at: SQLiteStorage.fileName + "-wal") ?? "no log")\n"
  }

  private func look(at name: String) -> String? {
    var status = stat()
    guard stat(folder + "/" + name, &status) == 0 else { return nil }
    return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
  }
}
