/// How long the service keeps data for later questions.
public struct KeptTimes: Sendable, Equatable {
  /// The valid days for signed answers, cut-off phones, revoked credentials and expired join codes: longer than a session
  /// and questions about it, ten years at most.
  public static let answersBounds = 62...3_650
  /// The valid days for entries of the audit.
  public static let auditBounds = 7...3_650

  public static let usual = KeptTimes(
    answers: Int(KeptAnswer.lifetime / secondsOfDay), audit: Int(AuditEntry.lifetime / secondsOfDay))

  private static let secondsOfDay: Int64 = 86_400

  private let answers, audit: Int64

  /// - Parameters:
  ///   - answers: days to keep signed answers, cut-off phones, revoked credentials and expired join codes, within
  ///     ``answersBounds``.
  ///   - audit: days to keep the audit, within ``auditBounds``.
  public init(answers: Int, audit: Int) {
    precondition(Self.answersBounds.contains(answers) && Self.auditBounds.contains(audit))
    (self.answers, self.audit) = (Int64(answers) * Self.secondsOfDay, Int64(audit) * Self.secondsOfDay)
  }

  /// The time to delete by, so that the usual age gives the configured one.
  func date(for kind: Forgettable, at now: UnixTime) -> UnixTime {
    switch kind {
    // Answers name the phone. What is kept for as long as the last one is told until then why it no longer works.
    case .answers, .cutOffPhones, .revokedCredentials, .joinings: now.advanced(seconds: KeptAnswer.lifetime - answers)
    case .auditEntries: now.advanced(seconds: AuditEntry.lifetime - audit)
    default: now
    }
  }
}
