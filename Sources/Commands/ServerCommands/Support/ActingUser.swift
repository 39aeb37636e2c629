import CommandSupport
import Glibc

/// The user as whom a command uses a data folder: its owner, so that the service can read files that the command makes.
enum ActingUser {
  /// Makes root become the folder's owner for good. New files then belong to the owner alone. Other users do not
  /// change. Root does not change for its own folder, or for a missing one.
  static func become(ownerOf folder: String) throws(CommandProblem) {
    var found = stat()
    guard geteuid() == 0, stat(folder, &found) == 0, found.st_uid != 0 else { return }
    guard setgroups(0, nil) == 0, setgid(found.st_gid) == 0, setuid(found.st_uid) == 0, geteuid() == found.st_uid else {
      throw .notTheOwner(of: folder, errno)
    }
    umask(0o077)
  }
}
