import CommandSupport
import Glibc
import HostDoctor
import HostSystem
import IAMPASSProtocol
import PAMStacks

/// Problems with PAM, sshd and security keys.
extension CommandProblem {
  static let profilesNotOn = row(
    "pam-auth-update left files in /etc/pam.d as they are, because an administrator edited them",
    "add the lines above by hand, without a trial, which cannot take them away; "
      + "pam-auth-update --force would throw those of your own away", EX_CANTCREAT)

  static let profilesNotOff = row(
    "lines of pam_iampass.so are still in force, which pam-auth-update does not take away",
    "with a root shell open, remove the lines above by hand", EX_CANTCREAT)

  /// The file of pam_iampass.so is missing.
  static let moduleMissing = row(
    "pam_iampass.so is not in the folder of PAM modules: nobody would be asked on the phone",
    "apt install --reinstall libpam-iampass", EX_NOINPUT)

  static func pamFile(_ error: PAMFileError) -> CommandProblem {
    row(error.explanation, nil, EX_CONFIG)
  }

  /// libpam did not start. Has the name of its code.
  static func pam(_ service: String, _ code: String) -> CommandProblem {
    row(
      "libpam cannot begin with the service \(service): \(code)", "ls /etc/pam.d, for the names of services",
      EX_OSERR)
  }

  /// A program failed. Has its name and output.
  static func programFailed(_ name: String, _ output: String) -> CommandProblem {
    row("\(name) failed" + Self.said(output), nil, EX_OSERR)
  }

  /// A trial's end would switch off more than the trial has switched on, or could not switch it off.
  static let trialOfWhatIsOn = row(
    "a trial begins only if sign-in by phone is off, and PAM has the lines above",
    "leave --trial out; or run iampassctl disable first", EX_CONFIG)

  static let noSystemd = row("a trial needs systemd, which does not run here", nil, EX_OSERR)

  static func sshdRefuses(_ output: String) -> CommandProblem {
    row(
      "sshd does not take the new settings" + Self.said(output), "sshd -t; does sshd_config include sshd_config.d?",
      EX_CANTCREAT)
  }

  /// `sshd -T` failed before a change was made. Has its output.
  static func sshdUnreadable(_ output: String) -> CommandProblem {
    row(
      "sshd -T failed, so whether sshd asks the phone is unknown" + Self.said(output),
      "mend what sshd -t names, or leave sshd out: --services sudo,login", EX_CONFIG)
  }

  /// The file that `enable` writes for sshd has lines of an administrator.
  static func sshdFileEdited(_ path: String) -> CommandProblem {
    row(
      "\(path) stays as it is: it has lines that iampassctl did not write",
      "move your own lines to another file of /etc/ssh/sshd_config.d, then try again", EX_CANTCREAT)
  }

  /// The file that `enable` wrote for sshd cannot be removed.
  static func sshdNeeds(_ path: String, _ need: SSHDFileNeed) -> CommandProblem {
    let reason =
      need.refusal.map { "without it sshd does not start" + Self.said($0) }
      ?? "without it sshd shuts out users for whom AuthenticationMethods asks for keyboard-interactive"
    let hint =
      need.lines.isEmpty
      ? "mend what sshd -t names, then iampassctl disable"
      : "take keyboard-interactive out of the lines above, or set UsePAM yes and KbdInteractiveAuthentication yes in "
        + "another file of /etc/ssh/sshd_config.d; then iampassctl disable"
    return row("\(path) stays: \(reason)", hint, EX_CANTCREAT)
  }

  /// pam_u2f.so of libpam-u2f is missing.
  static let keyModuleMissing = row(
    "pam_u2f.so is not in the folder of PAM modules: no security key could sign anybody in",
    "apt install libpam-u2f", EX_NOINPUT)

  static let keyProgramMissing = row(
    "pamu2fcfg is missing, which registers security keys", "apt install pamu2fcfg", EX_NOINPUT)

  /// pamu2fcfg did not print a key.
  static func keyNotRegistered(_ user: UnixUsername) -> CommandProblem {
    row(
      "no security key was registered for \(user)", "plug it in, touch it when it blinks, then try again",
      EX_UNAVAILABLE)
  }

  /// A user of this name has a key, but the system did not give the user's id.
  static func keyOfUnknownUser(_ name: String) -> CommandProblem {
    row(
      "the system does not know \(DisplayText.sanitized(name, limit: 64)), who has a security key",
      "iampassctl lost-device --security-key \(DisplayText.sanitized(name, limit: 64))", EX_NOUSER)
  }

  /// A program's output, after a colon.
  private static func said(_ output: String) -> String {
    output.isEmpty ? "" : ": \(DisplayText.sanitized(output, limit: 500))"
  }
}
