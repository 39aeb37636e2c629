/// What happens to the sessions that a lost phone has approved. Unanswered requests are closed.
enum PhoneLoss: Sendable {
  case keepsSessions
  /// All sessions of the user end, except those with these ids and those that a kept phone has approved.
  case endsSessions(but: Set<String>)

  /// Whether the session with this id ends, as far as the phone that approved it is not kept.
  func closes(_ session: String, isUnanswered: Bool) -> Bool {
    if isUnanswered { return true }
    if case .endsSessions(let kept) = self { return !kept.contains(session) }
    return false
  }
}
