import CommandSupport
import Glibc
import HostDoctor
import HostSystem

/// The configuration file that makes sshd ask PAM: on Debian, KbdInteractiveAuthentication is off by default.
enum SSHDropIn {
  /// In sshd_config(5) the first value counts, so this file must sort before the others.
  private static let path = "/etc/ssh/sshd_config.d/00-iampass.conf"
  private static let text =
    "# Written by iampassctl enable, removed by iampassctl disable: the phone is asked through PAM.\n"
    + SSHDaemon.dropIn.map { $0 + "\n" }.joined()

  enum Plan {
    /// sshd asks PAM, or is not installed.
    case notNeeded
    case write
    /// The file is needed but not wanted.
    case leave
  }

  /// Decides whether the file is needed, and whether the administrator wants it.
  ///
  /// - Parameters:
  ///   - isRequested: `--sshd` was given: the file is written without a question.
  ///   - asks: whether to ask at a terminal otherwise.
  /// - Throws: ``CommandProblem/sshdUnreadable(_:)``.
  static func plan(isRequested: Bool, asks: Bool) throws(CommandProblem) -> Plan {
    switch SSHDaemon.settings() {
    case .notInstalled: return .notNeeded
    case .settings(let settings): if settings.asksPAM { return .notNeeded }
    case .failed(let output): throw .sshdUnreadable(output)
    }
    if isRequested { return .write }
    guard asks, Terminal.isInteractive else { return .leave }
    let question = "sshd does not ask PAM. Write \(path), which lets it?"
    return try Prompt(interrupt: Interrupt()).agrees(question) ? .write : .leave
  }

  static func warn() {
    Terminal.complain("warning: sshd does not ask PAM, so it never asks the phone")
    Terminal.complain(
      "hint: iampassctl enable --sshd, or KbdInteractiveAuthentication yes and UsePAM yes in sshd_config")
  }

  static func write() throws(CommandProblem) {
    do { try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644) } catch { throw .file(error) }
    let test = SSHDaemon.run(["-t"])
    guard test?.status == 0, case .settings(let settings) = SSHDaemon.settings(), settings.asksPAM else {
      unlink(path)
      throw .sshdRefuses(test?.output ?? "")
    }
    reload()
    Terminal.say("wrote \(path)")
  }

  /// Removes the file, unless sshd would not start without it, or would shut users out.
  static func remove() throws(CommandProblem) {
    guard access(path, F_OK) == 0 else { return }
    if let need = SSHDFileNeed.find(path) {
      for line in need.lines { Terminal.complain("needs the file: \(line.onOneLine)") }
      throw .sshdNeeds(path, need)
    }
    guard unlink(path) == 0 else { throw .file(FileError(.system(errno), path: path)) }
    reload()
    Terminal.say("removed \(path)")
  }

  private static func reload() {
    guard access("/run/systemd/system", F_OK) == 0 else { return }
    for unit in ["ssh.service", "sshd.service"] {
      if Program.run(["/usr/bin/systemctl", "--no-block", "try-reload-or-restart", unit])?.status == 0 { return }
    }
    Terminal.complain("warning: sshd was not told of its new settings\nhint: systemctl reload ssh")
  }
}
