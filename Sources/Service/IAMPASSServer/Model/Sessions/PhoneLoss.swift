/// What becomes of the sessions that a lost phone approved. Requests that nobody has answered are closed.
enum PhoneLoss: Sendable {
  case keepsSessions
  /// All of the user's end, except those with these ids, and those that a phone approved that the user keeps.
  case endsSessions(but: Set<String>)

  func closes(_ session: Session) -> Bool {
    if session.lifecycle.isUnanswered { return true }
    if case .endsSessions(let kept) = self { return !kept.contains(session.id) }
    return false
  }
}
