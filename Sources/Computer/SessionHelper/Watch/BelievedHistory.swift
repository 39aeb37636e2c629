import IAMPASSProtocol

/// How far the service's own history was believed about one session.
struct BelievedHistory: Sendable, Equatable {
  /// Where the service stood when it last was believed; nil if it does not tell.
  private(set) var mark: ServiceMark?
  /// The service does not know any more what it knew then.
  var isPutBack = false

  init(mark: ServiceMark?) { self.mark = mark }

  /// Whether the service still knows all that it knew when it last spoke of this session. One that was put back and
  /// knows the session all the same is believed from its next `active` on, unless it is the one that another took over
  /// from.
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
