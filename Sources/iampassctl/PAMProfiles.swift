import AdminCommands
import Glibc
import HostState

/// The two profiles of pam-auth-update, switched and read back.
enum PAMProfiles {
  static let folder = "/etc/pam.d"
  private static let command = "/usr/sbin/pam-auth-update"
  private static let profiles = ["iampass", "iampass-session"]
  private static let sources = "/usr/share/pam-configs"
  /// It reads templates and runs debconf, in seconds.
  private static let patience: Int64 = 60

  static func switchOn() throws(Failure) {
    for profile in profiles where access("\(sources)/\(profile)", R_OK) != 0 {
      throw .file(FileError(.missing, path: "\(sources)/\(profile)"))
    }
    try update("--enable")
    // It exits with 0 also where an admin's edits keep it from changing anything.
    guard try hasModule("common-auth", "auth"), try hasModule("common-session", "session") else {
      try sayLinesToAdd()
      throw .profilesNotOn
    }
  }

  static func switchOff() throws(Failure) {
    try update("--disable")
    var left: [PAMLine] = []
    for (file, kind) in [("common-auth", "auth"), ("common-session", "session")] {
      left += try stack(kind, of: file).flatMap(\.lines).filter { $0.moduleName == "pam_iampass" }
    }
    guard left.isEmpty else {
      for line in left { Terminal.complain("still there: \(line.place)") }
      throw .profilesNotOff
    }
  }

  private static func update(_ option: String) throws(Failure) {
    guard Program.exists(command) else { throw .file(FileError(.missing, path: command)) }
    let answer = Program.run([command, "--package", option] + profiles, seconds: patience)
    guard let answer, answer.status == 0 else { throw .programFailed(command, answer?.output ?? "") }
  }

  private static func hasModule(_ file: String, _ kind: String) throws(Failure) -> Bool {
    try stack(kind, of: file).flatMap(\.lines).contains { $0.moduleName == "pam_iampass" }
  }

  private static func stack(_ kind: String, of file: String) throws(Failure) -> [PAMEntry] {
    do { return try PAMReader(folder: folder).stack(kind, of: file) } catch { throw .pamFile(error) }
  }

  private static func sayLinesToAdd() throws(Failure) {
    let lines = ProfileLines(auth: try stack("auth", of: "common-auth"))
    if try !hasModule("common-auth", "auth") {
      Terminal.complain("add to \(folder)/common-auth, above \(lines.above ?? "all others"):\n  \(lines.auth)")
    }
    if try !hasModule("common-session", "session") {
      Terminal.complain("add to \(folder)/common-session, below pam_systemd:\n  \(ProfileLines.session)")
    }
  }
}

/// A file that lets sshd ask PAM: Debian ships KbdInteractiveAuthentication off.
enum SSHDropIn {
  /// The first value counts in sshd_config(5), so that it must sort before the others.
  private static let path = "/etc/ssh/sshd_config.d/00-iampass.conf"
  private static let text = """
    # Written by iampassctl enable, removed by iampassctl disable: the phone is asked through PAM.
    UsePAM yes
    KbdInteractiveAuthentication yes

    """

  /// Whether the file is needed, and the admin wants it.
  ///
  /// - Parameter unasked: it was given as an option.
  static func isWanted(unasked: Bool) throws(Failure) -> Bool {
    guard let settings = SSHDaemon.settings(), !settings.asksPAM else { return false }
    if unasked { return true }
    let asks = Terminal.isInteractive
    if asks, try Prompt(interrupt: Interrupt()).agrees("sshd does not ask PAM. Write \(path), which lets it?") {
      return true
    }
    Terminal.complain("warning: sshd does not ask PAM, so it never asks the phone")
    Terminal.complain(
      "hint: iampassctl enable --sshd, or KbdInteractiveAuthentication yes and UsePAM yes in sshd_config")
    return false
  }

  static func write() throws(Failure) {
    do { try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644) } catch { throw .file(error) }
    let test = Program.run([SSHDaemon.path, "-t"])
    guard test?.status == 0, SSHDaemon.settings()?.asksPAM ?? false else {
      unlink(path)
      throw .sshdRefuses(test?.output ?? "")
    }
    reload()
    Terminal.say("wrote \(path)")
  }

  /// Only what was written here.
  static func remove() throws(Failure) {
    guard access(path, F_OK) == 0 else { return }
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
