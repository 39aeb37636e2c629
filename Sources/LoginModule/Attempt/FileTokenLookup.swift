import HostState
import HostSystem
import IAMPASSProtocol

/// The users file, beside the configuration.
struct FileTokenLookup: TokenLookup {
  let path: String
  /// A name that the system does not know has no token, whatever the file says.
  let isKnownUser: Bool
  let sharing: SharedTokens

  func token(of user: UnixUsername) throws(Misconfiguration) -> Secret? {
    let token: Secret?
    do { token = try UserTokens.token(of: user, inFile: path, sharing: sharing) } catch {
      throw .users(error, path: path)
    }
    return isKnownUser ? token : nil
  }
}
