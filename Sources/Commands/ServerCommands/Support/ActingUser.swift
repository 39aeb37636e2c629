import CommandSupport
import Glibc

/// The user as whom a command uses a data folder: its owner, so that the service can read files that the command makes.
enum ActingUser {
  /// The owner and the group of a folder if root becomes them for it; nil if this process stays who it is.
  static func other(ownerOf folder: String) -> (user: uid_t, group: gid_t)? {
    var found = stat()
    guard geteuid() == 0, stat(folder, &found) == 0, found.st_uid != 0 else { return nil }
    return (found.st_uid, found.st_gid)
  }

  /// Makes root become the folder's owner for good. New files then belong to the owner alone. Other users do not
  /// change. Root does not change for its own folder, or for a missing one.
  ///
  /// - Throws: also if others than root and this user can change the path to the folder. The user comes first: if the
  ///   folder is exchanged after the look at its owner, root does not stay root for the one that is opened.
  static func become(ownerOf folder: String) throws(CommandProblem) {
    if let (user, group) = other(ownerOf: folder) {
      guard setgroups(0, nil) == 0, setgid(group) == 0, setuid(user) == 0, geteuid() == user,
        EveryThread.become(user, group)
      else { throw .notTheOwner(of: folder, errno) }
      umask(0o077)
    }
    try DataPath.check(folder)
  }
}
