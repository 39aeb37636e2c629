import Glibc
import IAMPASSProtocol

/// The file by which a server shows commands that it runs on a data folder: `serving-ID`, locked until the process ends.
enum ServingFile {
  private static let begin = "serving-"
  private static let partialEnd = ".new"
  /// In bytes: more than a file of keys can have.
  private static let greatestSize = 16_384
  /// How often a server tries to leave its file. Another one that starts may take it for what an ended server has left.
  private static let greatestAttempts = 4

  /// Leaves the file of this process. The lock comes before the name, so that nobody finds it without its lock.
  ///
  /// - Parameter folder: the data folder.
  /// - Throws: ``StorageError`` if commands do not see this server, as for a full disk. Then no file is left.
  static func leave(_ server: RunningServer, in folder: String) throws(StorageError) {
    removeOld(in: folder)
    var failure: Int32 = 0
    for _ in 1...greatestAttempts {
      failure = try leaveOnce(server, in: folder)
      guard failure == EWOULDBLOCK || failure == ENOENT else { break }
    }
    guard failure == 0 else {
      throw StorageError(.databaseNotOpened, path: folder, detail: String(cString: strerror(failure)))
    }
  }

  /// - Returns: an error number; 0 if the file is there.
  private static func leaveOnce(_ server: RunningServer, in folder: String) throws(StorageError) -> Int32 {
    let path = try folder + "/" + begin + RandomValue.identifier()
    let partial = path + partialEnd
    let descriptor = open(partial, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return errno }
    // It stays open, and so locked, as long as this process lives.
    let failure = fill(descriptor, server)
    if failure == 0, rename(partial, path) == 0 { return 0 }
    let reason = failure == 0 ? errno : failure
    unlink(partial)
    close(descriptor)
    return reason
  }

  /// - Returns: an error number; 0 if the file is locked and written.
  private static func fill(_ descriptor: Int32, _ server: RunningServer) -> Int32 {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return errno }
    let text = server.marks.sorted().map { "\($0)\n" }.joined()
    let count = text.withCString { write(descriptor, $0, strlen($0)) }
    guard count >= 0 else { return errno }
    return count == text.utf8.count ? 0 : ENOSPC
  }

  /// - Throws: ``StorageError`` for whatever cannot be read. It could be of a server that lacks a key.
  static func servers(in folder: String) throws -> [RunningServer] {
    try names(in: folder).compactMap { name in
      guard !name.hasSuffix(partialEnd) else { return nil }
      guard let descriptor = try heldFile(folder + "/" + name) else { return nil }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: greatestSize)
      let count = read(descriptor, &bytes, bytes.count)
      let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
      return RunningServer(marks: Set(lines.compactMap { Int64($0) }))
    }
  }

  /// Removes the files of servers that have ended, and what those left that were killed as they wrote theirs.
  private static func removeOld(in folder: String) {
    for name in (try? names(in: folder)) ?? [] {
      let path = folder + "/" + name
      do {
        guard !name.hasSuffix(partialEnd) || isOwn(path) else { continue }
        if let descriptor = try heldFile(path) { close(descriptor) } else { unlink(path) }
      } catch {
        // It may be a server's.
        continue
      }
    }
  }

  /// Whether a server of this user can have made it.
  private static func isOwn(_ path: String) -> Bool {
    var found = stat()
    return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG && found.st_uid == geteuid()
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
      if name.hasPrefix(begin) { names.append(name) }
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
