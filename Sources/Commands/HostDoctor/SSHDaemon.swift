import CommandSupport
import Glibc

package enum SSHDaemon {
  package static let path = "/usr/sbin/sshd"
  /// sshd's own, always empty. Its units make it, so that it is missing while `ssh.socket` waits for a first connection;
  /// even `sshd -t` and `sshd -T` fail then.
  private static let folder = "/run/sshd"

  package enum Answer {
    case notInstalled
    case settings(SSHDSettings)
    /// Its configuration has errors, or it does not run; with its output.
    case failed(String)
  }

  package static func settings() -> Answer {
    guard Program.exists(path) else { return .notInstalled }
    guard let answer = run("-T") else { return .failed("") }
    return answer.status == 0 ? .settings(SSHDSettings(answer.output)) : .failed(answer.output)
  }

  /// Runs sshd with one option. If sshd misses its folder, makes the folder as its unit would, and runs sshd again.
  package static func run(_ option: String) -> Program.Result? {
    let answer = Program.run([path, option])
    guard let answer, answer.status != 0, missesFolder(answer.output), mkdir(folder, 0o755) == 0 else { return answer }
    // Whatever the umask is.
    chmod(folder, 0o755)
    return Program.run([path, option])
  }

  static func missesFolder(_ output: String) -> Bool {
    output.split(whereSeparator: \.isNewline).contains("Missing privilege separation directory: \(folder)")
  }
}
