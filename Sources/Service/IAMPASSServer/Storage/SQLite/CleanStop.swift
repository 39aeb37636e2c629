import Glibc

/// The mark of a service that has stopped in order: the file `clean-stop` beside the database.
///
/// It says what the database's file and its log were at that moment. So it does not count for a copy that was put back, nor for a file
/// that anybody has written to since. A start removes it, so that a crash leaves none.
public struct CleanStop: Sendable {
  /// Bytes. A mark is three numbers of each file.
  private static let greatestSize = 256

  private let folder: String

  /// - Parameter folder: the data directory.
  public init(folder: String) { self.folder = folder }

  private var path: String { folder + "/clean-stop" }

  /// Takes the mark away; to be asked before the database is opened.
  ///
  /// - Returns: whether the database is as a service left it that stopped in order.
  public func take() -> Bool {
    let (found, now) = (written, current)
    // A mark that stays would not match once the database has changed.
    guard unlink(path) == 0, FolderSync.flush(folder) else { return false }
    return found != nil && found == now
  }

  /// Writes the mark; to be called once the database is closed. Without it, the next start checks the file first.
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

  /// Nil if there is no database.
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
