import HostState
import HostSystem
import IAMPASSClient

/// How a sign-in by phone ended.
public enum LoginOutcome: Sendable {
  case approved(SignIn)
  case refused(Refusal)
}

/// An approved sign-in.
public struct SignIn: Sendable {
  public let session: ActiveSession
  /// Nil if no record could be kept, and the session needs none.
  public let record: SessionRecord?
}
