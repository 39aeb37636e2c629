import CHost
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient

/// Lets one command change the setup at a time. Others wait: two administrators, or an administrator and a script.
final class AdminLock {
  /// The longest wait in ms: one call to the service and a little more. No command holds the lock while it waits at a
  /// prompt.
  private static let patience: Int64 = 30_000

  private let descriptor: Int32

  /// Takes the lock of the configuration's folder, and finishes the change of a killed command.
  init(folder: String) throws(CommandProblem) {
    let path = folder + "/" + SetupPlace.administratorLockName
    let descriptor = iampass_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw errno == ENOENT ? .notSetUp(folder: folder) : .file(FileError(.system(errno), path: path))
    }
    self.descriptor = descriptor
    try Self.take(descriptor, path)
    do { try FileSet.recover(in: folder) } catch { throw .file(error) }
  }

  /// The lock for turning off, which must work on a broken computer too. Nil, with a warning, if the lock cannot be
  /// taken, or another iampassctl still holds it after the longest wait; no warning if the folder is missing.
  static func ifThere(folder: String) -> AdminLock? {
    do throws(CommandProblem) { return try AdminLock(folder: folder) } catch {
      if error != .notSetUp(folder: folder) {
        Terminal.complain("warning: \(error.message); going on without the lock")
      }
      return nil
    }
  }

  deinit { close(descriptor) }

  private static func take(_ descriptor: Int32, _ path: String) throws(CommandProblem) {
    let end = MonotonicInstant.now().advanced(milliseconds: patience)
    var hasSaid = false
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw .file(FileError(.system(errno), path: path)) }
      if !hasSaid { Terminal.complain("iampassctl: waiting for another iampassctl to end") }
      hasSaid = true
      guard MonotonicInstant.now() < end else { throw .busy }
      usleep(50_000)
    }
  }
}
