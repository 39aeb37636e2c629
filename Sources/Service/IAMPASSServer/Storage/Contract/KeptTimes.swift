/// How long the service keeps what is only asked about later.
public struct KeptTimes: Sendable, Equatable {
  /// Days for which signed answers may be kept: longer than a session and what is asked about it, ten years at most.
  public static let answersBounds = 62...3_650
  /// Days for which entries of the audit may be kept.
  public static let auditBounds = 7...3_650

  public static let usual = KeptTimes(
    answers: Int(KeptAnswer.lifetime / secondsOfDay), audit: Int(AuditEntry.lifetime / secondsOfDay))

  private static let secondsOfDay: Int64 = 86_400

  private let answers, audit: Int64

  /// - Parameters:
  ///   - answers: days, within ``answersBounds``.
  ///   - audit: days, within ``auditBounds``.
  public init(answers: Int, audit: Int) {
    precondition(Self.answersBounds.contains(answers) && Self.auditBounds.contains(audit))
    (self.answers, self.audit) = (Int64(answers) * Self.secondsOfDay, Int64(audit) * Self.secondsOfDay)
  }

  /// The time at which what is too old now would have reached its usual age: by that time it is forgotten.
  func date(for kind: Forgettable, at now: UnixTime) -> UnixTime {
    switch kind {
    case .answers: now.advanced(seconds: KeptAnswer.lifetime - answers)
    case .auditEntries: now.advanced(seconds: AuditEntry.lifetime - audit)
    default: now
    }
  }
}
