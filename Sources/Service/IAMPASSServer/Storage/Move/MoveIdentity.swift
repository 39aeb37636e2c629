/// Whose data a database has: what is the same in both databases after a move, also if the service goes on afterwards.
struct MoveIdentity: Sendable, Equatable {
  /// The key that signs push messages, as it is stored. Each seal stores it in another form.
  let pushKey: String
  /// When the service's history began.
  let epoch: Int64
  /// The ids of all applications, which are random.
  let applications: Set<String>

  /// Whether `later` is the same service's database. It may have other applications besides by now.
  func isSame(as later: MoveIdentity) -> Bool {
    if pushKey == later.pushKey { return true }
    // Without the key that has sealed it, the push key itself is not known.
    guard SealedText.isSealed(pushKey) || SealedText.isSealed(later.pushKey) else { return false }
    guard epoch == later.epoch else { return false }
    return applications.isEmpty || !applications.isDisjoint(with: later.applications)
  }
}
