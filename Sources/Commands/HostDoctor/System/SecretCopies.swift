import Glibc
import HostSystem

/// Findings about copies of files with secrets. `setup` once kept such copies, and editors leave them.
public enum SecretCopies {
  private static let files = ["credentials", "users"]

  /// - Parameter folder: the configuration's folder.
  public static func findings(in folder: String) -> [Finding] {
    PAMFiles.entries(of: folder).filter(isCopy).sorted().map { folder + "/" + $0 }.filter(isFile).map { path in
      Finding(
        .warning, .files, "\(path) is a copy of a file with secrets, and nothing reads it",
        hint: (MendingCommand.text("rm", path) ?? "look at it, and remove it if it is a copy")
          + "; if the application's own secret is in it, renew that at the service")
    }
  }

  /// Whether this is the name of a copy, such as `credentials.bak`, `users~`, `.credentials.swp` or `#users#`.
  private static func isCopy(_ name: String) -> Bool {
    let isEditors = name.hasPrefix("#") && name.hasSuffix("#")
    let bare = isEditors || name.hasPrefix(".") ? String(name.dropFirst()) : name
    return (isEditors || PAMFiles.isCopy(name)) && files.contains { bare.hasPrefix($0) }
  }

  private static func isFile(_ path: String) -> Bool {
    var found = stat()
    return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
  }
}
