import CHost
import Glibc

/// What is wrong with a file, its path, and its mode.
public struct FileError: Error, Sendable, Equatable {
  public enum Code: Sendable, Equatable {
    case missing
    case notRegular
    case symbolicLink
    case notOwnedByRoot
    case writableByOthers
    case readableByOthers
    case folderWritableByOthers
    case tooLarge
    case empty
    /// A file of authorities without a complete certificate.
    case noCertificate
    /// Reading, writing, locking or renaming failed, with errno.
    case system(Int32)
  }

  public let code: Code
  public let path: String
  /// The permission bits, if the file was opened.
  public let mode: UInt32?

  public init(_ code: Code, path: String, mode: UInt32? = nil) {
    self.code = code
    self.path = path
    self.mode = mode
  }

  /// Whether only root or the machine brings it about, for every process alike. Memory and descriptors are others': a user
  /// can leave a program too few of them.
  public var isTheMachines: Bool {
    switch code {
    case .folderWritableByOthers, .system(EIO), .system(EUCLEAN), .system(ESTALE): true
    default: false
    }
  }

  /// What is wrong, and where, such as `/etc/iampass/users is readable by group or others (mode 0644)`.
  public var explanation: String {
    let found = mode.map { " (mode 0" + String($0, radix: 8) + ")" } ?? ""
    switch code {
    case .missing: return "\(path) is missing"
    case .notRegular: return "\(path) is not a regular file"
    case .symbolicLink: return "\(path) is a symbolic link"
    case .notOwnedByRoot: return "\(path) is not owned by root"
    case .writableByOthers: return "\(path) is writable by group or others" + found
    case .readableByOthers: return "\(path) is readable by group or others" + found
    case .folderWritableByOthers: return "the folder of \(path) is not root's alone to write" + found
    case .tooLarge: return "\(path) is too large"
    case .empty: return "\(path) is empty"
    case .noCertificate: return "\(path) has no certificate in it"
    case .system(let number): return "\(path): \(String(cString: strerror(number)))"
    }
  }

  /// The command that repairs it. If the file is not this product's own, the hint is in words; nil if there is no
  /// repair.
  public var hint: String? {
    switch code {
    case .writableByOthers:
      MendingCommand.text("chmod go-w", path) ?? "copy it to a file that only root can write, and name that one"
    case .readableByOthers:
      MendingCommand.text("chmod 600", path) ?? "copy it to a file that only root can read, and name that one"
    case .notOwnedByRoot:
      MendingCommand.text("chown root:root", path) ?? "copy it to a file that belongs to root, and name that one"
    case .folderWritableByOthers:
      // A wrong owner has the same code.
      MendingCommand.text((mode ?? 0) & 0o022 == 0 ? "chown root:root" : "chmod go-w", SecureFile.folder(of: path))
        ?? "copy the file to a folder that only root can write, such as /root, and name it there"
    case .missing, .notRegular, .symbolicLink, .tooLarge, .empty, .noCertificate, .system: nil
    }
  }
}

/// Reads files that decide who may sign in. They are opened without following links, checked by fstat, and read whole
/// or not at all.
public enum SecureFile {
  /// Whether others may read the file.
  public enum Privacy: Sendable { case secret, readableByAll }

  /// The file's bytes. The file must be regular, owned by root and not writable by others. Only root may write its
  /// folder.
  ///
  /// - Parameter limit: greatest size in bytes.
  public static func read(_ path: String, privacy: Privacy, limit: Int) throws(FileError) -> [UInt8] {
    let descriptor = try open(path)
    defer { close(descriptor) }
    let size = try check(descriptor, path: path, privacy: privacy, limit: limit)
    return try readAll(descriptor, path: path, expecting: size, limit: limit)
  }

  fileprivate static func open(_ path: String) throws(FileError) -> Int32 {
    try checkFolder(of: path)
    // A FIFO must not block, and a terminal must not become our controlling terminal.
    let descriptor = iampass_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { throw openError(path) }
    return descriptor
  }

  package static func openError(_ path: String) -> FileError {
    switch errno {
    case ENOENT, ENOTDIR: FileError(.missing, path: path)
    case ELOOP: FileError(.symbolicLink, path: path)
    case ENXIO, EISDIR: FileError(.notRegular, path: path)
    case let number: FileError(.system(number), path: path)
    }
  }

  /// Checks an open file, and returns its size.
  package static func check(_ descriptor: Int32, path: String, privacy: Privacy, limit: Int) throws(FileError) -> Int {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw FileError(.system(errno), path: path) }
    let mode = found.st_mode & 0o7777
    guard found.st_mode & S_IFMT == S_IFREG else { throw FileError(.notRegular, path: path, mode: mode) }
    guard found.st_uid == 0 else { throw FileError(.notOwnedByRoot, path: path, mode: mode) }
    guard mode & 0o022 == 0 else { throw FileError(.writableByOthers, path: path, mode: mode) }
    guard privacy == .readableByAll || mode & 0o077 == 0 else {
      throw FileError(.readableByOthers, path: path, mode: mode)
    }
    guard found.st_size <= limit else { throw FileError(.tooLarge, path: path, mode: mode) }
    return Int(found.st_size)
  }

  /// The folder of a file: `/` for a file in the root, `.` for a bare name.
  package static func folder(of path: String) -> String {
    switch path.lastIndex(of: "/") {
    case nil: "."
    case path.startIndex: "/"
    case let end?: String(path[..<end])
    }
  }

  private static func checkFolder(of path: String) throws(FileError) {
    let folder = folder(of: path)
    var found = stat()
    guard stat(folder, &found) == 0 else {
      throw errno == ENOENT || errno == ENOTDIR
        ? FileError(.missing, path: path) : FileError(.system(errno), path: folder)
    }
    guard found.st_uid == 0, found.st_mode & 0o022 == 0 else {
      throw FileError(.folderWritableByOthers, path: path, mode: found.st_mode & 0o7777)
    }
  }

  /// Reads to the end. Throws if the file grows past the limit meanwhile.
  package static func readAll(_ descriptor: Int32, path: String, expecting size: Int, limit: Int) throws(FileError)
    -> [UInt8]
  {
    // One read suffices unless the file grows meanwhile. The buffer is not zeroed first, because the users file may
    // have megabytes.
    var bytes = [UInt8](unsafeUninitializedCapacity: size + 1) { buffer, count in
      // SAFETY: read writes at most the buffer's size and says how much it wrote.
      count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
    }
    var filled = bytes.count
    if filled > 0, filled <= size { bytes.append(contentsOf: repeatElement(0, count: size + 1 - filled)) }
    while true {
      if filled == bytes.count {
        guard filled <= limit else { throw FileError(.tooLarge, path: path) }
        bytes.append(contentsOf: repeatElement(0, count: min(65_536, limit - filled + 1)))
      }
      let count = bytes.withUnsafeMutableBytes { buffer in
        // SAFETY: the rest of the buffer begins at `filled`, which is inside it.
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw FileError(.system(errno), path: path)
      }
      if count == 0 { break }
      filled += count
    }
    guard filled <= limit else { throw FileError(.tooLarge, path: path) }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }
}

/// A file that is read in pieces of whole lines. It is checked as by ``SecureFile/read(_:privacy:limit:)``. Each
/// reading is of the same file, even if another one replaces it meanwhile.
package final class PieceFile {
  private let path: String
  private let limit: Int
  private let descriptor: Int32
  /// The size in bytes when the file was opened. It is set last: the object is complete by then, and closes the file if
  /// the check fails.
  private var size = 0

  package init(_ path: String, privacy: SecureFile.Privacy, limit: Int) throws(FileError) {
    self.path = path
    self.limit = limit
    descriptor = try SecureFile.open(path)
    size = try SecureFile.check(descriptor, path: path, privacy: privacy, limit: limit)
  }

  deinit { close(descriptor) }

  /// Passes the file's pieces to `take`, from the beginning. The last piece may have no newline. If `take` returns
  /// false, the reading ends. A piece is cleared when `take` returns.
  package func read(_ take: (UnsafeRawBufferPointer) -> Bool) throws(FileError) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw FileError(.system(errno), path: path) }
    var buffer = PieceBuffer(forFileOf: size)
    defer { buffer.discard() }
    var total = 0
    while true {
      let count = Glibc.read(descriptor, buffer.free.baseAddress, buffer.free.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileError(.system(errno), path: path)
      }
      guard count > 0 else { break }
      total += count
      // A file may grow while it is read.
      guard total <= limit else { throw FileError(.tooLarge, path: path) }
      guard buffer.add(count, giving: take) else { return }
    }
    if !buffer.rest.isEmpty { _ = take(buffer.rest) }
  }
}

/// The buffer for a piece of a file. It grows only for a longer line.
private struct PieceBuffer {
  /// The first size in bytes. It fits into the processor's cache, and causes few page faults.
  private static let greatestFirst = 65_536
  private static let leastFirst = 1_024

  private var bytes: UnsafeMutableRawBufferPointer
  private var filled = 0

  /// - Parameter size: the file's size. Nearly all files fit as a whole, and a smaller buffer is cleared faster.
  init(forFileOf size: Int) {
    let count = min(Self.greatestFirst, max(Self.leastFirst, size + 1))
    bytes = .allocate(byteCount: count, alignment: 1)
  }

  var free: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]) }
  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<filled]) }

  /// Adds `count` bytes that were read into ``free``, and passes the complete lines to `take`.
  mutating func add(_ count: Int, giving take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    filled += count
    guard let newline = rest.lastIndex(of: UInt8(ascii: "\n")) else {
      if filled == bytes.count { grow() }
      return true
    }
    let goesOn = take(UnsafeRawBufferPointer(rebasing: rest[...newline]))
    let left = filled - newline - 1
    // SAFETY: both ranges are inside the buffer; memmove takes overlapping ones.
    memmove(bytes.baseAddress!, bytes.baseAddress! + newline + 1, left)
    filled = left
    return goesOn
  }

  private mutating func grow() {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * bytes.count, alignment: 1)
    larger.copyMemory(from: rest)
    discard()
    bytes = larger
  }

  /// Clears and frees the buffer, because it may have secrets.
  mutating func discard() {
    // SAFETY: the buffer is ours, of this size, and not used again.
    explicit_bzero(bytes.baseAddress!, bytes.count)
    bytes.deallocate()
  }
}
