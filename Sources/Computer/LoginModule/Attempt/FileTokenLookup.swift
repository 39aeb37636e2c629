import HostState
import HostSystem
import IAMPASSProtocol

/// The users file beside the configuration, and with `users = service` what the service lists for this computer.
struct FileTokenLookup: TokenLookup {
  let setup: HostSetup
  /// Whom the system knows by the name; nil for nobody.
  let known: Result<SystemUser?, UserLookupError>

  func token(of user: UnixUsername) throws(Refusal) -> Secret? {
    let known: SystemUser?
    do { known = try self.known.get() } catch { throw .lookupFailed(error) }
    let token: Secret?
    let isListed: Bool
    do throws(Misconfiguration) {
      token = try setup.token(of: user, known: known)
      isListed = known == nil ? try setup.isListed(user) : false
    } catch { throw Refusal(error) }
    if known != nil { return token }
    // glibc says "not found" also for a directory that is away, if a source behind it does not know the name.
    guard token == nil, !isListed else { throw .notInSystem(user) }
    return nil
  }
}
