/// What happens to the sessions that a lost phone has approved. Unanswered requests are closed.
enum PhoneLoss: Sendable {
  case keepsSessions
  /// All sessions of the user end, except those with these ids and those that a kept phone has approved.
  case endsSessions(but: Set<String>)

  func closes(_ session: Session) -> Bool {
    if session.lifecycle.isUnanswered { return true }
    if case .endsSessions(let kept) = self { return !kept.contains(session.id) }
    return false
  }
}
