import HostState
import HostSystem
import IAMPASSProtocol

/// The users file beside the configuration, and with `users = service` the service's list for this computer.
struct FileTokenLookup: TokenLookup {
  let setup: HostSetup
  /// The system's user of this name; nil if there is none.
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
    // glibc also says "not found" if a directory is out of reach and a later source does not know the name.
    guard token == nil, !isListed else { throw .notInSystem(user) }
    return nil
  }
}
