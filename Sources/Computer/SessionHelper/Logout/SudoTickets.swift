import CHost
import Glibc
import HostState
import HostSystem

/// sudo's files that say that a user has recently authenticated.
public enum SudoTickets {
  /// Removes all of a user's tickets, so that the next sudo asks again.
  ///
  /// - Parameter run: `/run`.
  /// - Returns: what could not be removed. A ticket that does not exist is not an error.
  public static func drop(of user: SystemUser, run: String = "/run") -> [FileError] {
    let byUID = String(user.uid)
    // sudo names them by uid since 1.9.16 (Debian 13), by name before; sudo-rs by uid.
    return remove([user.name.text, byUID], in: run + "/sudo/ts") + remove([byUID], in: run + "/sudo-rs/ts")
  }

  private static func remove(_ names: [String], in folder: String) -> [FileError] {
    let descriptor = iampass_open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return errno == ENOENT ? [] : [FileError(.system(errno), path: folder)] }
    defer { close(descriptor) }
    // A user's name has no slash (UnixUsername), and unlinkat follows no link.
    return names.compactMap { name in
      unlinkat(descriptor, name, 0) == 0 || errno == ENOENT
        ? nil : FileError(.system(errno), path: "\(folder)/\(name)")
    }
  }
}
