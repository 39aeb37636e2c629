import CommandSupport

package enum SSHDaemon {
  package static let path = "/usr/sbin/sshd"

  /// Nil where there is none, or its configuration has errors.
  package static func settings() -> SSHDSettings? {
    guard Program.exists(path), let answer = Program.run([path, "-T"]), answer.status == 0 else { return nil }
    return SSHDSettings(answer.output)
  }
}
