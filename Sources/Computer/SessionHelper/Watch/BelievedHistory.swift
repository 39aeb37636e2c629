import IAMPASSProtocol

/// Up to which point of the service's history it was believed about one session.
struct BelievedHistory: Sendable, Equatable {
  /// The service's position in its history when it was last believed; nil if it does not give one.
  private(set) var mark: ServiceMark?
  /// The service was restored to a state before ``mark``.
  var isPutBack = false

  init(mark: ServiceMark?) { self.mark = mark }

  /// Whether the service still knows all that it knew at its last answer about this session. A restored service that
  /// still knows the session is believed again from its next `active` on. This does not hold for a service that another
  /// one has taken over from.
  mutating func believes(_ word: SessionStatus, _ new: ServiceMark?) -> Bool {
    if let known = mark {
      guard let new else { return false }
      guard new.continues(known) || (word == .active && new.epoch >= known.epoch) else { return false }
    }
    mark = new
    isPutBack = false
    return true
  }
}
