import Glibc

/// A copy of everything that this process passes to one that must not open the database.
///
/// SQLite writes it to a file of the data folder, whose name goes before the first byte is passed on. The file is locked
/// until then, so that the next copy removes what one left that was killed.
extension SQLiteStorage {
  private static let passedCopy = "backup.partial-"
  /// What is read and passed on at once, in bytes.
  private static let portion = 1 << 20

  /// Writes the size in bytes, as eight bytes with the greatest first, and the copy to a pipe. Ignore SIGPIPE before.
  ///
  /// - Throws: ``BackupError/Code/notCopied``.
  public func passCopy(to pipe: Int32) async throws {
    removeLeftCopies()
    guard hasRoom else { throw BackupError(.notCopied, folder, "its disk has no room for twice the database") }
    let name = try folder + "/" + Self.passedCopy + RandomValue.identifier()
    let file = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw BackupError(.notCopied, folder, Self.systemError) }
    defer { Glibc.close(file) }
    do {
      defer { unlink(name) }
      var found = stat()
      // Another process may take the file for a left one until it is locked.
      guard flock(file, LOCK_EX | LOCK_NB) == 0, fstat(file, &found) == 0, found.st_nlink == 1 else {
        throw BackupError(.notCopied, folder, "another backup has just begun")
      }
      do { try await writeCopy(to: name) } catch { throw BackupError(.notCopied, folder, "\(error)") }
    }
    guard Self.pass(file, to: pipe) else { throw BackupError(.notCopied, folder, Self.systemError) }
  }

  /// Whether the service has room left beside the copy: on a full disk it would refuse all requests.
  private var hasRoom: Bool {
    var room = statvfs()
    guard statvfs(folder, &room) == 0 else { return true }
    let sizes = ["", "-wal"].map { end -> UInt in
      var found = stat()
      return stat(pool.path + end, &found) == 0 ? UInt(found.st_size) : 0
    }
    return UInt(room.f_bavail) >= 2 * sizes.reduce(0, +) / max(1, UInt(room.f_frsize))
  }

  /// - Returns: false with errno if that failed.
  private static func pass(_ file: Int32, to pipe: Int32) -> Bool {
    var found = stat()
    guard fstat(file, &found) == 0, lseek(file, 0, SEEK_SET) == 0 else { return false }
    let size = UInt64(found.st_size)
    guard send((0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }, 8, to: pipe) else { return false }
    var bytes = [UInt8](repeating: 0, count: portion)
    while true {
      let count = Glibc.read(file, &bytes, portion)
      if count == 0 { return true }
      if count < 0 {
        guard errno == EINTR else { return false }
        continue
      }
      guard send(bytes, count, to: pipe) else { return false }
    }
  }

  private static func send(_ bytes: [UInt8], _ count: Int, to pipe: Int32) -> Bool {
    var sent = 0
    while sent < count {
      let more = bytes.withUnsafeBytes { buffer in
        // SAFETY: `sent` is less than `count`, which is at most the buffer's size.
        Glibc.write(pipe, buffer.baseAddress! + sent, count - sent)
      }
      if more >= 0 { sent += more } else if errno != EINTR { return false }
    }
    return true
  }

  /// Removes what copies left that were killed.
  private func removeLeftCopies() {
    guard let entries = opendir(folder) else { return }
    defer { closedir(entries) }
    var names: [String] = []
    while let entry = readdir(entries) {
      // SAFETY: readdir ends d_name with a zero; the entry lives until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasPrefix(Self.passedCopy) { names.append(folder + "/" + name) }
    }
    for name in names {
      let file = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard file >= 0 else { continue }
      if flock(file, LOCK_EX | LOCK_NB) == 0 {
        unlink(name)
        // SQLite's journal of the copy.
        unlink(name + "-journal")
      }
      Glibc.close(file)
    }
  }
}
