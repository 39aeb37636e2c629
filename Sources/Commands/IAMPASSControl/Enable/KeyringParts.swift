import CommandSupport
import Glibc
import HostDoctor
import HostState
import PAMStacks

/// What `keyring = sealed` needs besides the configuration: a profile, and a socket.
enum KeyringParts {
  private static let systemctl = "/usr/bin/systemctl"
  private static let creds = "/usr/bin/systemd-creds"
  private static let update = "/usr/sbin/pam-auth-update"
  private static let socket = "iampass-keyring.socket"
  private static let profile = "iampass-keyring"

  /// Switches both on, or off as ``switchOff(_:)`` does. A failure is printed, but does not stop the command: without
  /// them the keyring stays locked.
  static func settle(_ policy: KeyringPolicy, _ host: HostOptions) {
    guard policy == .sealed else {
      do { try switchOff(host) } catch { Terminal.complain("warning: sealed passwords stay: \(error.message)") }
      return
    }
    guard Program.run([update, "--package", "--enable", profile], seconds: 60)?.status == 0 else {
      return Terminal.complain("warning: the profile \(profile) is not on: keyrings stay locked\nhint: \(update)")
    }
    guard hasSystemd else { return }
    guard Program.run([systemctl, "enable", "--quiet", "--now", socket], seconds: 30)?.status == 0 else {
      return Terminal.complain(
        "warning: \(socket) could not be started: keyrings stay locked\nhint: systemctl enable --now \(socket)")
    }
    Terminal.say(worth)
  }

  /// Switches both off, then forgets the sealed passwords, and prints one line about it.
  ///
  /// - Throws: if sealed passwords cannot be forgotten.
  static func switchOff(_ host: HostOptions) throws(CommandProblem) {
    if isOn { _ = Program.run([update, "--package", "--disable", profile], seconds: 60) }
    stopSocket()
    let kept: SealedPasswords
    do { kept = try host.sealedPasswords() } catch {
      // Turning off must work on a broken computer too.
      return Terminal.complain(
        "warning: sealed passwords stay: \(error.message)\nhint: mend it, then iampassctl keyring forget --all")
    }
    if let said = try kept.forgetAllAndTell() { Terminal.say(said) }
  }

  private static func stopSocket() {
    guard hasSystemd else { return }
    guard Program.run([systemctl, "is-enabled", "--quiet", socket], seconds: 5)?.status == 0 else { return }
    _ = Program.run([systemctl, "disable", "--quiet", "--now", "--no-block", socket], seconds: 30)
  }

  /// How well a sealed password is protected here.
  private static var worth: String {
    Program.run([creds, "has-tpm2", "--quiet"], seconds: 10)?.status == 0
      ? "keyring: passwords are sealed to this computer's TPM 2 and disk; root here can open them"
      : "keyring: passwords are sealed by a key on this disk, without TPM 2: root, and anyone who reads an unencrypted"
        + " disk, can open them"
  }

  private static var isOn: Bool {
    let stack = try? PAMReader(folder: PAMProfiles.folder).stack("auth", of: "common-auth")
    return (stack ?? []).flatMap(\.lines).contains(where: \.servesKeyring)
  }

  private static var hasSystemd: Bool { access("/run/systemd/system", F_OK) == 0 }
}
