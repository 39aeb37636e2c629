/// How a command that waits for a phone gets the phone's keys.
enum KeyProof {
  /// By the secret of the link that the command has shown.
  case link(PinningLink)
  /// Later, by six words: the link was not shown here, or has no place for a secret.
  case words
  /// The service does not give the keys of phones.
  case untold
}
