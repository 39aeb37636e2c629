/// How the phone must identify its user.
public enum AuthenticationMethod: String, Sendable, CaseIterable {
  /// A tap.
  case acceptance
  /// The phone must be unlocked.
  case device
  case facial
}
