/// Why something is done about a session; raw values are part of the notes.
public enum Cause: String, Sendable, CaseIterable {
  case walkaway
  /// The service ended the session, or its answer is not a known status.
  case ended
  /// The service does not know the session any more.
  case forgotten
  /// The time that was asked for has run out.
  case expired
  case unreachable
  /// The helper's own looks did not find the user's phones.
  case presence
  /// The helper could not look for the user's phones for too long.
  case presenceUnknown = "presence_unknown"
  /// An administrator has ended the session (`iampassctl session end`).
  case administrator
}
