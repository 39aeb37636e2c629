import IAMPASSProtocol

/// An entry of the audit with the phone's answer that it goes back to.
public struct AuditProof: Sendable {
  public let entry: AuditEntry
  /// Nil if no phone's answer belongs to the entry, or if the answer is not kept any more.
  public let answer: AnswerProof?

  /// One line of JSON: `entry`, `answer`, and whether the answer's signatures were verified.
  public var jsonLine: String {
    JSON.object([
      JSON.Member("entry", entry.json), JSON.Member("answer", answer.map { .object($0.members) } ?? .null),
      JSON.Member("verified", .bool(answer != nil && answer?.flaw == nil)),
    ]).printed()
  }
}
