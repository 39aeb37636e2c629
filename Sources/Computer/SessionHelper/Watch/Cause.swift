/// Why something is done about a session; raw values are part of the notes.
public enum Cause: String, Sendable, CaseIterable {
  case walkaway
  /// The service ended it, or says a word that is not a status.
  case ended
  /// The service does not know it any more.
  case forgotten
  /// The time that was asked for has run out.
  case expired
  case unreachable
  /// The helper itself has found that the user's phones are gone.
  case presence
  /// The helper has known nothing of the user's phones for too long.
  case presenceUnknown = "presence_unknown"
  /// An administrator has asked for it (`iampassctl session end`).
  case administrator
}
