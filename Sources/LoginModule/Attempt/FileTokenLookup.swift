import HostState
import HostSystem
import IAMPASSProtocol

/// The users file beside the configuration, and with `users = service` what the service lists for this computer.
struct FileTokenLookup: TokenLookup {
  let setup: HostSetup
  /// Nil for a name that the system does not know: it has no token, whatever the files say.
  let known: SystemUser?

  func token(of user: UnixUsername) throws(Misconfiguration) -> Secret? {
    let token = try setup.token(of: user, known: known)
    return known == nil ? nil : token
  }
}
