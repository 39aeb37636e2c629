import Glibc

/// OpenSSH's server. It asks PAM in a child for each try, and opens the session in that child's parent.
public enum SSHServer {
  /// Its PAM service, unless its configuration sets another PAMServiceName (sshd_config(5), OpenSSH 9.8).
  public static let usualService = "sshd"
  /// From OpenSSH 9.8 on, each connection runs in its own program.
  private static let programs: Set<Substring> = ["sshd", "sshd-session"]

  /// Whether sshd calls PAM: under its usual service name, or from its own program under any name.
  public static func calls(_ service: String) -> Bool { service == usualService || isThisProgram }

  /// Whether this process is sshd, by the file that the kernel runs. Users can give a setuid program another name by a
  /// link, so a program that a user has started does not count.
  public static var isThisProgram: Bool {
    guard getuid() == 0, let path = realpath("/proc/self/exe", nil) else { return false }
    defer { free(path) }
    return isProgram(String(cString: path))
  }

  static func isProgram(_ path: String) -> Bool { path.split(separator: "/").last.map(programs.contains) ?? false }
}
