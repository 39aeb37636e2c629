import Glibc
import HostState
import HostSystem

/// Finds a change of the setup whose command was killed between two files. Sign-ins then read a configuration and a
/// credential that may not belong together, until another command finishes the change.
public enum UnfinishedChange {
  public static func findings(of place: SetupPlace) -> [Finding] {
    guard FileSet.isUnfinished(in: place.folder), !isAtWork(place.administratorLock),
      // The command may have ended since the first look.
      FileSet.isUnfinished(in: place.folder)
    else { return [] }
    return [
      Finding(
        .problem, .files,
        "\(place.folder) has half of a change, whose command was killed: files in it may not belong together",
        // It finishes the change before it asks anything.
        hint: "iampassctl setup")
    ]
  }

  /// Whether a command that changes the setup has not ended. A lock file that cannot be opened shows none.
  static func isAtWork(_ lock: String) -> Bool {
    let descriptor = open(lock, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }
}
