import HostState
import HostSystem
import IAMPASSClient

/// How a sign-in by phone, or without it, ended.
public enum LoginOutcome: Sendable {
  case approved(SignIn)
  case offline(OfflineSignIn)
  case refused(Refusal)
}

/// A sign-in without the service.
public struct OfflineSignIn: Sendable {
  public let proof: OfflineProof
  /// Nil for what opens no session.
  public let record: SessionRecord?
}

/// An approved sign-in.
public struct SignIn: Sendable {
  public let session: ActiveSession
  /// Nil if no record could be kept, and the session needs none.
  public let record: SessionRecord?
}
