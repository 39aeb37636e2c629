import Glibc

/// The user who runs the program of a PAM service, as far as the files show it.
public enum ServiceProgram: Sendable, Equatable {
  /// sudo uses the service, because of this option of sudoers(5).
  case sudo(option: String)
  /// Users start the program, and it has root's rights.
  case withRootsRights(path: String)
  /// Users start the program, and it has their rights.
  case withUsersRights(path: String)
  /// The program is in a folder for root's programs.
  case ofRoot(path: String)
  /// There is no program with the service's name.
  case unknown

  public var isSudo: Bool { if case .sudo = self { true } else { false } }

  private static let usersFolders = ["/usr/bin", "/usr/local/bin"]
  private static let rootsFolders = ["/usr/sbin", "/usr/local/sbin"]

  /// Reads sudo's policy, and searches for a program with the service's name.
  public static func find(_ service: String) -> ServiceProgram {
    if case .settings(let settings) = Sudoers.settings(), let option = settings.option(naming: service) {
      return .sudo(option: option)
    }
    for path in usersFolders.map({ "\($0)/\(service)" }) {
      guard let status = program(path) else { continue }
      let isRoots = status.st_mode & S_ISUID != 0 && status.st_uid == 0
      return isRoots ? .withRootsRights(path: path) : .withUsersRights(path: path)
    }
    return rootsFolders.map { "\($0)/\(service)" }.first { program($0) != nil }.map { .ofRoot(path: $0) } ?? .unknown
  }

  private static func program(_ path: String) -> stat? {
    var found = stat()
    guard stat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG, found.st_mode & 0o111 != 0 else { return nil }
    return found
  }
}
