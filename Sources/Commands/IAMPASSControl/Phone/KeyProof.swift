/// How a command that waits for a phone comes to know the phone's keys.
enum KeyProof {
  /// By the secret of the link that the command has shown.
  case link(PinningLink)
  /// Later, by six words: the link went another way, or has no place for a secret.
  case words
  /// The service does not tell the keys of phones.
  case untold
}
