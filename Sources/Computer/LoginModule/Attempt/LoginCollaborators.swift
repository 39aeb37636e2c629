import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

// The parts that one sign-in needs. Tests script them, and `LoginComposition.swift` has the real ones.

/// ② The token that stands for a user at the service.
public protocol TokenLookup {
  /// Nil if it is certain that the user has none.
  func token(of user: UnixUsername) throws(Refusal) -> Secret?
}

/// The trusted phones that verify approvals. Used only if the service's answer is not enough.
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

/// ③ ④ The service, for one sign-in.
public protocol AuthenticationService {
  /// Gets ready while the user reads. Sends nothing.
  func prepare()
  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer
  /// Whether the service may have read any start of this sign-in, whatever its result or that of a later one.
  var startMayHaveArrived: Bool { get }
  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer
  /// Checks only that the service answers, over the same network as ``start(token:_:durationSeconds:deadline:)``.
  func reach(deadline: MonotonicInstant) throws(ServiceError)
  /// Cancels a request or ends a session. Works after an interruption too.
  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError)
}

/// Why a conversation failed: the other side has gone.
public enum ConversationError: Error, Sendable, Equatable { case gone }

/// The user at the terminal.
public protocol Conversation {
  func say(_ text: String) throws(ConversationError)
  /// Shows a link, and also a QR code if the terminal can show one.
  func show(link: String) throws(ConversationError)
  /// The typed text, empty for Enter alone; nil if the host gave no answer.
  func ask(_ prompt: String) throws(ConversationError) -> Secret?
  /// Passes a typed password to the next module.
  func keepPassword(_ password: Secret) throws(ConversationError)
}

/// ⑥ Records sessions that the phone opened, and sign-ins without the service.
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
