import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

// What one sign-in needs of its host: each is scripted in tests, and real in `LoginComposition.swift`.

/// ② The token that stands for a user at the service.
public protocol TokenLookup {
  /// Nil if it is certain that the user has none.
  func token(of user: UnixUsername) throws(Refusal) -> Secret?
}

/// What this computer verifies approvals by. Asked only if the service's word is not enough.
public protocol ApprovalTrust {
  /// What an approval of the user must prove.
  func demand(of user: UnixUsername, asked: [AuthenticationMethod]) throws(PhoneTrustError) -> ApprovalDemand
  /// Whether this computer still trusts the phone as it did when the phone was asked.
  func stillTakes(
    _ approval: VerifiedApproval, of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> Bool
}

extension ApprovalTrust {
  public func stillTakes(
    _ approval: VerifiedApproval, of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> Bool {
    do { return try demand(of: user, asked: asked).takes(approval) } catch {
      if case .gap = error { return false }
      throw error
    }
  }
}

/// ③ ④ The service, as one sign-in needs it.
public protocol AuthenticationService {
  /// Gets ready while the user still reads: nothing is sent.
  func prepare()
  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer
  /// Whether any start of this sign-in can have been read, whatever came of it or of a later one.
  var startMayHaveArrived: Bool { get }
  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer
  /// Asks nothing but whether somebody answers: the same network as for ``start(token:_:durationSeconds:deadline:)``.
  func reach(deadline: MonotonicInstant) throws(ServiceError)
  /// Cancels a request or ends a session. Works after an interruption too.
  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError)
}

/// Why a conversation failed: nobody is at the other end.
public enum ConversationError: Error, Sendable, Equatable { case gone }

/// The user at the terminal.
public protocol Conversation {
  func say(_ text: String) throws(ConversationError)
  /// Shows a link of ours whole, and where the terminal can as a QR code.
  func show(link: String) throws(ConversationError)
  /// What was typed, empty for Enter alone; nil if the host answered with nothing.
  func ask(_ prompt: String) throws(ConversationError) -> Secret?
  /// Hands a typed password to the next module.
  func keepPassword(_ password: Secret) throws(ConversationError)
}

/// ⑥ Remembers sessions that the phone opened, or what signs in without the service.
public protocol SessionRecorder {
  /// Whether this process can have a record, asked before the phone rings. A disk may still be full by the time of it.
  func requireRecordable() throws(LedgerError)
  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord
  func record(_ proof: OfflineProof) throws(LedgerError) -> SessionRecord
}

/// Counts requests.
public protocol RequestLimit {
  func admit() throws(AttemptRefusal)
  /// The admitted request was approved.
  func forgive() throws(AttemptRefusal)
}

/// The clock of one attempt.
public protocol LoginClock {
  func now() -> MonotonicInstant
  /// Waits; true if the user interrupted.
  func pause(milliseconds: Int64) -> Bool
}
