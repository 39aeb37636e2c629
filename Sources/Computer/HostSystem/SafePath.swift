import CHost
import Glibc

/// An open file, closed with this object.
package final class Descriptor {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }

  deinit { close(number) }
}

/// Why a path is not trusted, and which part of it.
package struct PathFault: Error, Equatable {
  package enum Code: Equatable, Sendable {
    case notAbsolute
    case symbolicLink
    case notFolder
    case ownedByAnother
    case writableByOthers
    /// A system call failed, with errno.
    case system(Int32)
  }

  package let code: Code
  package let path: String

  package init(code: Code, path: String) {
    self.code = code
    self.path = path
  }
}

/// Walks paths part by part (openat2(2)), so that only root and this user can change their target.
///
/// Links that belong to these two are followed, such as `/var/run`. The last part must not be a link.
package enum SafePath {
  /// The end of the walk: the folder of the last part, and that part's name.
  package struct Place {
    package let folder: Descriptor
    package let name: String
    package let path: String

    /// Opens the last part without following a link.
    ///
    /// - Parameter flags: added to `O_CLOEXEC` and `O_NOFOLLOW`.
    package func open(_ flags: Int32) throws(PathFault) -> Descriptor { try look(flags).found }

    /// Opens the last part as ``open(_:)`` does, and returns its status too.
    package func look(_ flags: Int32) throws(PathFault) -> (found: Descriptor, status: stat) {
      let found = try Descriptor(SafePath.step(from: folder, name, flags, path))
      var status = stat()
      guard fstat(found.number, &status) == 0 else { throw PathFault(code: .system(errno), path: path) }
      guard status.st_mode & S_IFMT != S_IFLNK else { throw PathFault(code: .symbolicLink, path: path) }
      return (found, status)
    }
  }

  /// The most links that are followed, as in the kernel.
  private static let mostLinks = 40

  package static func place(of path: String) throws(PathFault) -> Place { try place(of: path, distrust) }

  /// The same for a path that other users may change, but not this one, nor this group.
  ///
  /// - Throws: ``PathFault``, also if a folder or a link on the way belongs to `user`.
  package static func place(
    of path: String, keptFrom user: uid_t, _ group: gid_t
  ) throws(PathFault) -> Place {
    try place(of: path) { status in
      guard status.st_uid != user else { return .ownedByAnother }
      return isOpen(status, to: status.st_gid == group ? 0o022 : 0o002) ? .writableByOthers : nil
    }
  }

  private static func place(
    of path: String, _ distrust: (stat) -> PathFault.Code?
  ) throws(PathFault) -> Place {
    var parts = try parts(of: path)
    guard let name = parts.popLast(), name != "..", name != "." else { throw PathFault(code: .notFolder, path: path) }
    return Place(folder: try folder(parts, path, distrust), name: name, path: path)
  }

  private static func parts(of path: String) throws(PathFault) -> [String] {
    guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
      throw PathFault(code: .notAbsolute, path: path)
    }
    return path.split(separator: "/").map(String.init)
  }

  /// Why a part of a path is not this user's and root's alone; nil if it is.
  private static func distrust(_ status: stat) -> PathFault.Code? {
    guard status.st_uid == 0 || status.st_uid == geteuid() else { return .ownedByAnother }
    return isOpen(status, to: 0o022) ? .writableByOthers : nil
  }

  /// Whether it is a folder in which others can replace files. In a folder like /tmp others can add files, but replace
  /// only their own.
  private static func isOpen(_ status: stat, to bits: mode_t) -> Bool {
    status.st_mode & S_IFMT == S_IFDIR && status.st_mode & bits != 0 && status.st_mode & S_ISVTX == 0
  }

  private static func folder(
    _ parts: [String], _ path: String, _ distrust: (stat) -> PathFault.Code?
  ) throws(PathFault) -> Descriptor {
    var here = try root()
    var rest = Array(parts.reversed())
    var links = 0
    while let name = rest.popLast() {
      let next = try Descriptor(step(from: here, name, O_PATH, path))
      var status = stat()
      guard fstat(next.number, &status) == 0 else { throw PathFault(code: .system(errno), path: path) }
      if let code = distrust(status) { throw PathFault(code: code, path: path) }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: here = next
      case S_IFLNK:
        links += 1
        guard links <= mostLinks else { throw PathFault(code: .system(ELOOP), path: path) }
        let target = try target(of: next, path)
        if target.utf8.first == UInt8(ascii: "/") { here = try root() }
        rest += target.split(separator: "/").map(String.init).reversed()
      default: throw PathFault(code: .notFolder, path: path)
      }
    }
    return here
  }

  private static func root() throws(PathFault) -> Descriptor {
    let root = iampass_open("/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0)
    guard root >= 0 else { throw PathFault(code: .system(errno), path: "/") }
    return Descriptor(root)
  }

  /// Opens one part without following a link. `..` leads to a folder that was checked on the way.
  private static func step(
    from here: Descriptor, _ name: String, _ flags: Int32, _ path: String
  ) throws(PathFault) -> Int32 {
    let next = iampass_open_beneath(here.number, name, flags | O_NOFOLLOW | O_CLOEXEC, name == ".." ? 0 : 1)
    guard next < 0 else { return next }
    let code = errno
    // With O_DIRECTORY the kernel reports that a link is not a folder.
    var status = stat()
    let isLink = fstatat(here.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
    throw PathFault(code: isLink ? .symbolicLink : .system(code), path: path)
  }

  private static func target(of link: Descriptor, _ path: String) throws(PathFault) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      // SAFETY: readlinkat writes at most the buffer's size and returns the length.
      count = max(0, readlinkat(link.number, "", buffer.baseAddress!, buffer.count))
    }
    guard !bytes.isEmpty, bytes.count < Int(PATH_MAX) else { throw PathFault(code: .system(ENAMETOOLONG), path: path) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
