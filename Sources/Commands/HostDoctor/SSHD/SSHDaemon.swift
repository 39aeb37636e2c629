import CommandSupport

package enum SSHDaemon {
  package static let path = "/usr/sbin/sshd"
  /// The settings that `iampassctl enable --sshd` writes.
  package static let dropIn = ["UsePAM yes", "KbdInteractiveAuthentication yes"]
  /// The file that has them. In sshd_config(5) the first value counts, so this file must sort before the others.
  package static let dropInPath = "/etc/ssh/sshd_config.d/00-iampass.conf"
  /// sshd's own folder, which is always empty. sshd's units make it. While `ssh.socket` waits for a first connection it
  /// is missing, and even `sshd -t` and `sshd -T` fail.
  private static let folder = "/run/sshd"
  /// The file that sshd reads as its configuration if it is given a text.
  static let standardInput = "/dev/stdin"
  /// The connection that no block names. sshd needs a number for `Match LocalPort`, and ssh is not served at this port.
  private static let usualPort = "lport=1"

  package enum Answer: Sendable {
    case notInstalled
    case settings(SSHDSettings)
    /// sshd's configuration has errors, or sshd does not run. Has its output.
    case failed(String)
  }

  /// - Parameters:
  ///   - connection: the connection, as `user=alice,addr=192.0.2.1` (sshd(8)); nil: one that no block names.
  ///   - withDropIn: whether to read the settings with the file that `iampassctl enable --sshd` writes.
  ///   - main: the text that is read in place of `/etc/ssh/sshd_config`, at most 64 KiB; nil: that file.
  package static func settings(connection: String? = nil, withDropIn: Bool = false, main: [UInt8]? = nil) -> Answer {
    guard Program.exists(path) else { return .notInstalled }
    var options = ["-T", "-C", whole(connection)]
    if withDropIn { options += dropIn.flatMap { ["-o", $0] } }
    if main != nil { options += ["-f", standardInput] }
    guard let answer = run(options, input: main ?? []) else { return .failed("") }
    return answer.status == 0 ? .settings(SSHDSettings(answer.output)) : .failed(answer.output)
  }

  /// A connection in the form that sshd requires.
  static func whole(_ connection: String?) -> String {
    guard let connection else { return usualPort }
    return connection.contains("lport=") ? connection : "\(connection),\(usualPort)"
  }

  /// Runs sshd. If its folder is missing, sshd is run again in a mount namespace that has one. The computer's own
  /// `/run` does not change.
  package static func run(_ options: [String], input: [UInt8] = []) -> Program.Result? {
    let answer = Program.run([path] + options, input: input)
    guard let answer, answer.status != 0, missesFolder(answer.output) else { return answer }
    let other = Program.run(OwnMounts.command + [path] + options, input: input)
    guard let other, !OwnMounts.haveFailed(other) else { return answer }
    return other
  }

  static func missesFolder(_ output: String) -> Bool {
    output.split(whereSeparator: \.isNewline).contains("Missing privilege separation directory: \(folder)")
  }

  /// A mount namespace with the folder, which ends with its process (unshare(1)).
  private enum OwnMounts {
    /// sshd itself ends with 0, 1 or 255.
    private static let failed: Int32 = 99
    /// The rest of `/run` stays visible: lookups of users and groups connect to sockets there.
    private static let script = """
      { mount -t tmpfs -o mode=755 tmpfs /mnt && mkdir -m 755 /mnt/sshd &&
      mount -t overlay -o ro,lowerdir=/mnt:/run overlay /run; } || exit \(failed)
      exec "$@"
      """
    static let command = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh"]

    /// Whether the mounts have failed, as in a container that may not mount.
    static func haveFailed(_ result: Program.Result) -> Bool {
      result.status == failed || result.output.hasPrefix("unshare: ")
    }
  }
}
