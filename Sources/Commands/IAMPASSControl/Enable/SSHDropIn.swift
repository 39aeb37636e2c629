import CommandSupport
import Glibc
import HostDoctor
import HostSystem

/// The configuration file that makes sshd ask PAM: on Debian, KbdInteractiveAuthentication is off by default.
enum SSHDropIn {
  private static let path = SSHDaemon.dropInPath
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
  ///   - warns: whether to warn if the file opens passwords.
  /// - Throws: ``CommandProblem/sshdUnreadable(_:)``.
  static func plan(isRequested: Bool, asks: Bool, warns: Bool) throws(CommandProblem) -> Plan {
    let settings: SSHDSettings
    switch SSHDaemon.settings() {
    case .notInstalled: return .notNeeded
    case .settings(let found): settings = found
    case .failed(let output): throw .sshdUnreadable(output)
    }
    guard !settings.asksPAM else { return .notNeeded }
    guard isRequested || (asks && Terminal.isInteractive) else { return .leave }
    if warns, settings.withDropIn.letsPAMTakePasswords { warnOfPasswords() }
    if isRequested { return .write }
    let question = "sshd does not ask PAM. Write \(path), which lets it?"
    return try Prompt(interrupt: Interrupt()).agrees(question) ? .write : .leave
  }

  private static func warnOfPasswords() {
    Terminal.complain(
      "warning: PasswordAuthentication is off, but with \(path) sshd asks users without a phone for their password")
    Terminal.complain("hint: \(SSHDSettings.keyAsWell), in place of --sshd")
  }

  /// The command to type after `setup` or `join`. It has `--sshd`, unless that may open passwords to users who cannot
  /// sign in by one now.
  ///
  /// - Parameter sshd: sshd's settings.
  static func nextCommand(trial: String, sshd: SSHDaemon.Answer = SSHDaemon.settings()) -> String {
    let opensPasswords =
      switch sshd {
      case .notInstalled: false
      case .settings(let settings): settings.withDropIn.letsPAMTakePasswords
      case .failed: true
      }
    return "iampassctl enable\(opensPasswords ? "" : " --sshd") --trial \(trial)"
  }

  static func warn() {
    Terminal.complain("warning: sshd does not ask PAM, so it never asks the phone")
    Terminal.complain(
      "hint: iampassctl enable --sshd, or KbdInteractiveAuthentication yes and UsePAM yes in sshd_config")
  }

  /// Writes the file. If sshd does not take it, what was there before is back.
  static func write() throws(CommandProblem) {
    let old = try ownBytes()
    do { try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644) } catch { throw .file(error) }
    let test = SSHDaemon.run(["-t"])
    guard test?.status == 0, case .settings(let settings) = SSHDaemon.settings(), settings.asksPAM else {
      putBack(old)
      throw .sshdRefuses(test?.output ?? "")
    }
    reload()
    Terminal.say("wrote \(path)")
  }

  private static func putBack(_ old: [UInt8]?) {
    guard let old else {
      unlink(path)
      return
    }
    do { try AtomicFile.write(old, to: path, mode: 0o644) } catch {
      Terminal.complain("warning: \(error.explanation)")
    }
  }

  /// The file's bytes; nil if there is none.
  ///
  /// - Throws: ``CommandProblem/sshdFileEdited(_:)`` if an administrator has changed it.
  private static func ownBytes() throws(CommandProblem) -> [UInt8]? {
    guard access(path, F_OK) == 0 else { return nil }
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .readableByAll, limit: 64 * 1024) } catch { throw .file(error) }
    guard isOwn(bytes) else { throw .sshdFileEdited(path) }
    return bytes
  }

  /// Whether a file has no lines of others. A file without any text has none.
  static func isOwn(_ bytes: [UInt8]) -> Bool {
    bytes == Array(text.utf8) || bytes.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
  }

  /// Removes the file, unless an administrator has changed it, sshd would not start without it, or would shut users out.
  static func remove() throws(CommandProblem) {
    guard try ownBytes() != nil else { return }
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
