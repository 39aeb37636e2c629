import CHost
import Glibc
import HostSystem

/// Identifies a file independently of its name.
package struct FileIdentity: Sendable, Equatable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Nil if the file does not exist.
  package init?(following path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}

/// The program that gets the network must be the one that the administrator installed.
enum WorkerFile {
  /// A checked program. It is started by its descriptor, so that no other program can take its place in the meantime.
  struct Program {
    let descriptor: Descriptor
    let identity: FileIdentity
  }

  static func open(_ path: String) throws(TransportError) -> Program {
    let (descriptor, status) = try open(path, kind: S_IFREG)
    return Program(descriptor: descriptor, identity: FileIdentity(status))
  }

  /// The same for a socket at which workers wait.
  static func open(socket path: String) throws(TransportError) -> Descriptor { try open(path, kind: S_IFSOCK).0 }

  private static func open(_ path: String, kind: mode_t) throws(TransportError) -> (Descriptor, stat) {
    let (descriptor, status): (Descriptor, stat)
    do throws(PathFault) { (descriptor, status) = try SafePath.place(of: path).look(O_PATH) } catch {
      throw TransportError(error)
    }
    guard status.st_mode & S_IFMT == kind else {
      throw TransportError(.workerFailed, detail: "\(path) is not a \(kind == S_IFSOCK ? "socket" : "regular file")")
    }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw TransportError(PathFault(code: .ownedByAnother, path: path))
    }
    guard status.st_mode & 0o022 == 0 else {
      throw TransportError(PathFault(code: .writableByOthers, path: path))
    }
    return (descriptor, status)
  }
}

extension TransportError {
  fileprivate init(_ fault: PathFault) {
    let path = fault.path
    switch fault.code {
    case .notAbsolute: self.init(.workerFailed, detail: "\(path) is not an absolute path")
    case .symbolicLink: self.init(.workerFailed, detail: "\(path) is a symbolic link")
    case .notFolder: self.init(.workerFailed, detail: "\(path) is not in a folder")
    case .ownedByAnother:
      self.init(.workerFailed, detail: "\(path), or a folder that it is in, belongs to another user")
    case .writableByOthers:
      self.init(.workerFailed, detail: "\(path), or a folder that it is in, is writable by others")
    case .system(let code): self = .start(path, code)
    }
  }
}
