import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol

/// The path to a data directory. Whoever can change a part of it can put another database in the place of the
/// service's, or lead root to another directory.
enum DataPath {
  /// Any name in the directory: the walk to it checks the directory too, and the links to it.
  private static let anyName = "/any"

  /// Refuses a path that users other than root and this process's can change. Call it as the user who opens the
  /// database.
  ///
  /// A part that is missing, or that this user cannot reach, is left to whoever opens the database. That fails there
  /// too.
  static func check(_ folder: String) throws(CommandProblem) {
    let whole = absolute(folder)
    guard let code = fault(whole) else { return }
    switch code {
    case .notFolder, .system(ENOENT), .system(ENOTDIR), .system(EACCES): return
    case .ownedByAnother, .writableByOthers: throw problem(whole, folder)
    case .notAbsolute, .symbolicLink: throw unknown(folder, EINVAL)
    case .system(let number): throw unknown(folder, number)
    }
  }

  private static func absolute(_ folder: String) -> String {
    guard !folder.hasPrefix("/"), let here = getcwd(nil, 0) else { return folder }
    defer { free(here) }
    return String(cString: here) + "/" + folder
  }

  /// Why the walk to a directory ended; nil if it is trusted.
  private static func fault(_ folder: String) -> PathFault.Code? {
    do throws(PathFault) {
      _ = try SafePath.place(of: folder + anyName)
      return nil
    } catch { return error.code }
  }

  /// The first part of a path that others can change; nil if there is none.
  private static func changeablePart(of folder: String) -> String? {
    var path = ""
    for name in folder.split(separator: "/") {
      path += "/\(name)"
      let code = fault(path)
      if code == .ownedByAnother || code == .writableByOthers { return path }
    }
    return nil
  }

  /// Names the part that is to be mended, and how.
  ///
  /// - Parameter folder: the path as it was given.
  private static func problem(_ whole: String, _ folder: String) -> CommandProblem {
    let resolved = realpath(whole, nil)
    defer { free(resolved) }
    // A part of the path without links is a directory, whose own owner and mode say what is wrong.
    let target = resolved.map { String(cString: $0) }
    let part = target.flatMap(changeablePart) ?? changeablePart(of: whole) ?? whole
    var found = stat()
    guard lstat(part, &found) == 0 else { return unknown(folder, errno) }
    let isTrustedOwners = found.st_uid == 0 || found.st_uid == geteuid()
    let isLink = found.st_mode & S_IFMT == S_IFLNK
    let shown = DisplayText.sanitized(part)
    if !isLink && (part == target || part == whole) {
      guard isTrustedOwners else {
        return CommandProblem(
          message: "\(shown) belongs to another user", hint: "run this as the owner of that directory",
          exitCode: EX_NOPERM)
      }
      return CommandProblem(
        message: "\(shown) is writable by others", hint: "chmod 700 \(MendingCommand.quoted(part))",
        exitCode: EX_CONFIG)
    }
    let (lack, command): (String, String?) =
      switch (isTrustedOwners, isLink) {
      case (false, _): ("belongs to user \(found.st_uid)", MendingCommand.text("chown -h root", part))
      case (true, true): ("leads through a directory that others can write", nil)
      case (true, false): ("is writable by others", MendingCommand.text("chmod go-w", part))
      }
    return CommandProblem(
      message: "\(shown), on the way to the data directory \(DisplayText.sanitized(folder)), \(lack)",
      hint: command
        ?? "let only root and the service's user write there, or keep the data elsewhere, such as in /var/lib",
      exitCode: EX_CONFIG)
  }

  private static func unknown(_ folder: String, _ number: Int32) -> CommandProblem {
    CommandProblem(
      message: "it cannot be known who can change the path to \(DisplayText.sanitized(folder)): "
        + String(cString: strerror(number)),
      hint: "give the data directory by a path without links, and look at each directory on it", exitCode: EX_CONFIG)
  }
}
