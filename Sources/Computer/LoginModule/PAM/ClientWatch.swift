import CHost
import Glibc

/// Notices that an ssh client has gone while the phone is asked.
///
/// sshd does not report it: its process with the connection waits for this process, and does not read meanwhile. So
/// this checks that process's connection. If it cannot be checked, the client counts as present.
final class ClientWatch {
  /// sshd has few descriptors, and the connection is one of the first.
  private static let greatestDescriptor: Int32 = 63

  /// A descriptor of the process (pidfd_open(2)), so that a later process with the same number is not checked.
  private let process: Int32
  private let connection: Int32
  private let inode: UInt

  /// Nil unless the process has exactly one TCP connection.
  ///
  /// - Parameter isParent: whether the process is still this one's parent, called once its descriptor is open.
  init?(of number: pid_t, isParent: () -> Bool = { true }) {
    let made = iampass_pidfd_open(number)
    guard made >= 0 else { return nil }
    // In a host that has closed stdin, stdout or stderr, our descriptor must not take their place.
    let held = iampass_duplicate_above(made, 10)
    close(made)
    guard held >= 0 else { return nil }
    var found: [UInt: Int32] = [:]
    if isParent() {
      for descriptor in 0...Self.greatestDescriptor {
        let inode = Self.borrowed(descriptor, of: held) { iampass_is_connection($0) != 0 ? Self.inode(of: $0) : nil }
        if let inode { found[inode] = descriptor }
      }
    }
    // The same connection may have several descriptors. If there are two connections, one may be to a directory server.
    guard found.count == 1, let (inode, descriptor) = found.first else {
      close(held)
      return nil
    }
    process = held
    connection = descriptor
    self.inode = inode
  }

  /// The client of the sshd that runs this process; nil if it is not known.
  static func ofParent() -> ClientWatch? {
    let parent = getppid()
    return parent > 1 ? ClientWatch(of: parent) { getppid() == parent } : nil
  }

  deinit { close(process) }

  /// Whether the client has closed its side. sshd also treats that as the end once it reads again.
  var hasLeft: Bool {
    Self.borrowed(connection, of: process) { Self.inode(of: $0) == inode && iampass_has_peer_left($0) != 0 } ?? false
  }

  /// Runs `look` with a copy of the descriptor, which is closed again: a copy that stayed would keep the connection
  /// open.
  private static func borrowed<Result>(_ descriptor: Int32, of process: Int32, _ look: (Int32) -> Result?) -> Result? {
    let copy = iampass_pidfd_borrow(process, descriptor)
    guard copy >= 0 else { return nil }
    defer { close(copy) }
    return look(copy)
  }

  private static func inode(of socket: Int32) -> UInt? {
    var status = stat()
    return fstat(socket, &status) == 0 ? status.st_ino : nil
  }
}
