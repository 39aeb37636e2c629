import HostState
import HostSystem
import IAMPASSClient

/// The ledger in `/run/iampass`, for one request.
struct HostSessionRecorder: SessionRecorder {
  let ledger: SessionLedger
  let user: SystemUser
  let request: LoginRequest
  let duration: Int64
  /// The longest time of a session without the service, in seconds.
  let offlineDuration: Int64
  /// Whether the PAM service opens a session that the helper watches.
  let opensSession: Bool

  func requireRecordable() throws(LedgerError) { try ledger.requireRecordable() }

  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord {
    try ledger.record(
      session, user: user, service: request.service, remoteHost: request.remoteHost, tty: request.tty,
      duration: duration, opensSession: opensSession)
  }

  func record(_ proof: OfflineProof) throws(LedgerError) -> SessionRecord {
    try ledger.record(
      proof, user: user, service: request.service, remoteHost: request.remoteHost, tty: request.tty,
      duration: offlineDuration, opensSession: opensSession)
  }
}
