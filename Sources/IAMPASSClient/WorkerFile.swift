import CHost
import Glibc

/// A file, whatever its name.
package struct FileIdentity: Sendable, Equatable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Nil where there is no such file.
  package init?(following path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}

/// What is started with the network in its hands must be what the administrator installed.
enum WorkerFile {
  /// - Returns: which program it is.
  static func check(_ path: String) throws(TransportError) -> FileIdentity {
    _ = try check(try folder(of: path), flags: O_DIRECTORY, kind: S_IFDIR)
    return try check(path, flags: O_NOFOLLOW, kind: S_IFREG)
  }

  /// The same of a socket that workers wait at.
  static func check(socket path: String) throws(TransportError) {
    _ = try check(try folder(of: path), flags: O_DIRECTORY, kind: S_IFDIR)
    _ = try check(path, flags: O_NOFOLLOW, kind: S_IFSOCK)
  }

  private static func folder(of path: String) throws(TransportError) -> String {
    guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      throw TransportError(.workerFailed, detail: "\(path) is not an absolute path")
    }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func check(_ path: String, flags: Int32, kind: mode_t) throws(TransportError) -> FileIdentity {
    let descriptor = iampass_open(path, O_PATH | O_CLOEXEC | flags, 0)
    guard descriptor >= 0 else { throw .start(path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .start(path) }
    guard status.st_mode & S_IFMT == kind else {
      throw TransportError(.workerFailed, detail: "\(path) is no \(kind == S_IFSOCK ? "socket" : "regular file")")
    }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw TransportError(.workerFailed, detail: "\(path) belongs to another user")
    }
    // In a folder like /tmp others can add files but not replace ours.
    let isShared = kind == S_IFDIR && status.st_mode & S_ISVTX != 0
    guard status.st_mode & 0o022 == 0 || isShared else {
      throw TransportError(.workerFailed, detail: "\(path) is writable by others")
    }
    return FileIdentity(status)
  }
}
