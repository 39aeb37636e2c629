import CommandSupport

package enum SSHDaemon {
  package static let path = "/usr/sbin/sshd"
  /// The settings that `iampassctl enable --sshd` writes.
  package static let dropIn = ["UsePAM yes", "KbdInteractiveAuthentication yes"]
  /// sshd's own, always empty. Its units make it, so that it is missing while `ssh.socket` waits for a first connection;
  /// even `sshd -t` and `sshd -T` fail then.
  private static let folder = "/run/sshd"
  /// For what no block names. sshd wants a number for `Match LocalPort`, and nobody serves ssh at this one.
  private static let usualPort = "lport=1"

  package enum Answer: Sendable {
    case notInstalled
    case settings(SSHDSettings)
    /// Its configuration has errors, or it does not run; with its output.
    case failed(String)
  }

  /// - Parameters:
  ///   - connection: whose settings, as `user=alice,addr=192.0.2.1` (sshd(8)); nil: of those whom no block names.
  ///   - withDropIn: as they are with the file that `iampassctl enable --sshd` writes.
  package static func settings(connection: String? = nil, withDropIn: Bool = false) -> Answer {
    guard Program.exists(path) else { return .notInstalled }
    let options = withDropIn ? dropIn.flatMap { ["-o", $0] } : []
    guard let answer = run(["-T", "-C", whole(connection)] + options) else { return .failed("") }
    return answer.status == 0 ? .settings(SSHDSettings(answer.output)) : .failed(answer.output)
  }

  /// A connection as sshd wants it.
  static func whole(_ connection: String?) -> String {
    guard let connection else { return usualPort }
    return connection.contains("lport=") ? connection : "\(connection),\(usualPort)"
  }

  /// Runs sshd. If sshd misses its folder, runs it again where it finds one; the computer's own `/run` stays as it is.
  package static func run(_ options: [String]) -> Program.Result? {
    let answer = Program.run([path] + options)
    guard let answer, answer.status != 0, missesFolder(answer.output) else { return answer }
    guard let other = Program.run(OwnMounts.command + [path] + options), !OwnMounts.haveFailed(other) else {
      return answer
    }
    return other
  }

  static func missesFolder(_ output: String) -> Bool {
    output.split(whereSeparator: \.isNewline).contains("Missing privilege separation directory: \(folder)")
  }

  /// A mount namespace with the folder, which ends with its process (unshare(1)).
  private enum OwnMounts {
    /// sshd itself ends with 0, 1 or 255.
    private static let failed: Int32 = 99
    /// `/run` stays below: lookups of users and groups connect to sockets there.
    private static let script = """
      { mount -t tmpfs -o mode=755 tmpfs /mnt && mkdir -m 755 /mnt/sshd &&
      mount -t overlay -o ro,lowerdir=/mnt:/run overlay /run; } || exit \(failed)
      exec "$@"
      """
    static let command = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh"]

    /// As in a container that may not mount.
    static func haveFailed(_ result: Program.Result) -> Bool {
      result.status == failed || result.output.hasPrefix("unshare: ")
    }
  }
}
