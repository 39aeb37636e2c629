/// Why something is done about a session; raw values are part of the notes.
public enum Cause: String, Sendable, CaseIterable {
  case walkaway
  /// The service ended it, or says what is no status.
  case ended
  /// The service knows it no more.
  case forgotten
  /// The time that was asked for has run out.
  case expired
  case unreachable
  /// An administrator has asked for it (`iampassctl session end`).
  case administrator
}
