import HostState
import IAMPASSClient
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

struct HostRequestLimit: RequestLimit {
  let limiter: AttemptLimiter
  let user: UnixUsername
  let source: AttemptSource

  func admit() throws(AttemptRefusal) { try limiter.admit(user, from: source) }
  func forgive() throws(AttemptRefusal) { try limiter.forgive(user, from: source) }
}

struct HostSessionRecorder: SessionRecorder {
  let ledger: SessionLedger
  let user: SystemUser
  let request: LoginRequest
  let duration: Int64

  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord {
    try ledger.record(
      session, user: user, service: request.service, remoteHost: request.remoteHost, tty: request.tty,
      duration: duration)
  }
}
