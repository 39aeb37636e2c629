import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// `pam_sm_authenticate` on a line with the word `keyring`: after an approval, passes the sealed password to the
/// modules after it. Or keeps a typed password of a user with a token for ``SessionCall``.
///
/// It does not authenticate, and always answers PAM_IGNORE.
struct KeyringCall {
  let host: PAMHost
  let words: [String]

  func run() -> Int32 {
    do throws(Misconfiguration) { try act() } catch { say(error.explanation) }
    return PAM_IGNORE
  }

  private func say(_ why: String) { host.log(LOG_ERR, "keyring stays as it is: \(why)") }

  private func act() throws(Misconfiguration) {
    let setup = try HostSetup(path: try ModuleArguments(words).configurationPath)
    let service = host.service
    // In other services the session has no keyring, and later modules do not need a password.
    guard setup.configuration.keyring == .sealed, geteuid() == 0, DesktopServices.isGreeter(service),
      setup.configuration.services.contains(service), let bytes = host.userBytes
    else { return }
    let found: SystemUser?
    do { found = try SystemUser.find(spelled: bytes) } catch { return say(error.explanation) }
    guard let user = found, user.uid != 0 else { return }
    let approved = host.kept(KeptApproval.name, as: KeptApproval.self)?.user
    switch KeyringAct.of(approved: approved, user: bytes, hasPassword: host.hasPassword) {
    case .nothing: break
    case .give: give(user, KeyringLink(path: setup.configuration.keyringSocket))
    case .keep: try keep(user, given: bytes, setup)
    }
  }

  private func give(_ user: SystemUser, _ link: KeyringLink) {
    guard let password = link.password(of: user.name) else { return }
    guard host.setPassword(password) else { return host.log(LOG_ERR, "the keyring's password cannot be handed on") }
    host.log(LOG_INFO, "the keyring gets its password \(LogField.text("user", user.name.text))")
  }

  private func keep(_ user: SystemUser, given: [UInt8], _ setup: HostSetup) throws(Misconfiguration) {
    // A user without a token cannot be approved by phone, and would never get the password back.
    guard try setup.token(of: user.name, known: user) != nil, let password = host.password() else { return }
    let kept = KeptPassword(user: user.name, given: given, password: password, print: ShadowPrint.of(user.name))
    if !KeptPassword.keep(kept, with: host) { host.log(LOG_WARNING, "password not remembered for the keyring") }
  }
}

extension SessionCall {
  /// Requests the sealing of the password that opened this session. Does not wait for it.
  func sealKeyring() {
    guard let kept = host.kept(KeptPassword.name, as: KeptPassword.self), let password = kept.take() else { return }
    // If the name differs, the session is not of the user who signed in.
    guard host.userBytes == kept.given,
      let setup = try? HostSetup(path: (try? ModuleArguments(words))?.configurationPath ?? Configuration.path),
      setup.configuration.keyring == .sealed
    else { return }
    let request = KeyringRequest(user: kept.user, act: .seal(password: password, print: kept.print))
    if !KeyringLink(path: setup.configuration.keyringSocket).send(request) {
      host.log(LOG_WARNING, "password not sealed for the keyring: iampass-keyring.socket does not answer")
    }
  }
}
