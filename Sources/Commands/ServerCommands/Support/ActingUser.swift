import CommandSupport
import Glibc

/// As whom a command works on a data directory: as its owner, so that the service can read what the command makes.
enum ActingUser {
  /// Root becomes the directory's owner for good, and what it makes from then on is the owner's alone. Others stay who
  /// they are; so does root on a directory of its own, or on one that is not there.
  static func become(ownerOf folder: String) throws(CommandProblem) {
    var found = stat()
    guard geteuid() == 0, stat(folder, &found) == 0, found.st_uid != 0 else { return }
    guard setgroups(0, nil) == 0, setgid(found.st_gid) == 0, setuid(found.st_uid) == 0, geteuid() == found.st_uid else {
      throw .notTheOwner(of: folder, errno)
    }
    umask(0o077)
  }
}
