import CommandSupport
import Glibc
import HostDoctor
import HostSystem
import PAMStacks

/// Links to all of PAM's files, and one more: a locker's name leads to the file of the name that the locker asks as.
///
/// libpam and the module both go by the name that a program of root's gives, and under the file's own name the module
/// takes no such program for a locker.
final class StandInFolder {
  let path: String

  /// Nil if the service has a file of its own.
  ///
  /// - Parameter folder: of PAM's files, as an absolute path.
  /// - Throws: ``CommandProblem/file(_:)``.
  init?(for service: String, in folder: String) throws(CommandProblem) {
    let reader = PAMReader(folder: folder)
    let file = reader.fileName(of: service)
    guard file != service else { return nil }
    let made = strdup("/run/iampass-login-test.XXXXXX")
    defer { free(made) }
    guard let made, mkdtemp(made) != nil else { throw .file(FileError(.system(errno), path: "/run")) }
    path = String(cString: made)
    for name in PAMFiles.names(in: folder) { try link(name, to: reader.path(of: name)) }
    try link(service, to: reader.path(of: file))
  }

  deinit {
    for name in PAMFiles.names(in: path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private func link(_ name: String, to target: String) throws(CommandProblem) {
    let place = "\(path)/\(name)"
    guard symlink(target, place) == 0 else { throw .file(FileError(.system(errno), path: place)) }
  }
}
