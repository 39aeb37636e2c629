import Glibc
import IAMPASSProtocol

/// The file by which a server shows commands that it runs on a data folder: `serving-ID`, locked until the process ends.
enum ServingFile {
  private static let begin = "serving-"
  private static let partialEnd = ".new"
  /// In bytes: more than a file of keys can have.
  private static let greatestSize = 16_384

  /// Leaves the file of this process. The lock comes before the name, so that nobody finds it without its lock.
  ///
  /// - Parameter folder: the data folder; a full disk leaves no file in it.
  static func leave(_ server: RunningServer, in folder: String) {
    removeOld(in: folder)
    guard let id = try? RandomValue.identifier() else { return }
    let path = folder + "/" + begin + id
    let partial = path + partialEnd
    let descriptor = open(partial, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    let text = server.marks.sorted().map { "\($0)\n" }.joined()
    let isWritten = text.withCString { write(descriptor, $0, strlen($0)) } == text.utf8.count
    // It stays open, and so locked, as long as this process lives.
    guard isWritten, flock(descriptor, LOCK_EX | LOCK_NB) == 0, rename(partial, path) == 0 else {
      unlink(partial)
      close(descriptor)
      return
    }
  }

  /// - Throws: ``StorageError`` for whatever cannot be read. It could be of a server that lacks a key.
  static func servers(in folder: String) throws -> [RunningServer] {
    try names(in: folder).compactMap { name in
      guard let descriptor = try heldFile(folder + "/" + name) else { return nil }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: greatestSize)
      let count = read(descriptor, &bytes, bytes.count)
      let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
      return RunningServer(marks: Set(lines.compactMap { Int64($0) }))
    }
  }

  /// Removes the files of servers that have ended.
  private static func removeOld(in folder: String) {
    for name in (try? names(in: folder)) ?? [] {
      let path = folder + "/" + name
      do {
        if let descriptor = try heldFile(path) { close(descriptor) } else { unlink(path) }
      } catch {
        // It may be a server's.
        continue
      }
    }
  }

  private static func names(in folder: String) throws -> [String] {
    guard let entries = opendir(folder) else { throw unreadable(folder) }
    defer { closedir(entries) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(entries) else { break }
      // SAFETY: readdir ends d_name with a zero; the entry lives until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasPrefix(begin), !name.hasSuffix(partialEnd) { names.append(name) }
    }
    guard errno == 0 else { throw unreadable(folder) }
    return names
  }

  /// The open file, if a server holds it.
  private static func heldFile(_ path: String) throws -> Int32? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      // A server that starts removes the files of those that have ended.
      guard errno == ENOENT else { throw unreadable(path) }
      return nil
    }
    // A shared lock: two commands that look at once do not take each other for a server.
    if flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return descriptor }
      defer { close(descriptor) }
      throw unreadable(path)
    }
    close(descriptor)
    return nil
  }

  private static func unreadable(_ path: String) -> StorageError {
    StorageError(.databaseNotOpened, path: path, detail: String(cString: strerror(errno)))
  }
}
