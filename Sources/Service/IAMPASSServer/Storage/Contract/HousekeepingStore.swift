import IAMPASSProtocol

/// What the service does by itself, and what its operator looks at.
protocol HousekeepingStore: Sendable {
  /// Keeps how far time has come, for the next boot. A power cut may undo the last of it.
  func keepTime() async throws

  /// Forgets what is no longer needed: nonces, links, blocks, answers, ended sessions, the audit's old entries, visits.
  ///
  /// - Parameter wall: the wall clock's time. A nonce whose request it has yet to refuse is kept.
  func forgetOld(at now: UnixTime, wall: UnixTime) async throws

  /// How much is stored at this moment.
  func stock() async throws -> StorageStock

  /// Throws if nothing can be read.
  func answer() async throws

  /// Entries of the audit with greater ids, the oldest first: for reading all of them in portions.
  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry]

  /// Kept answers of phones, the oldest first, each as a line of JSON with the number to go on after.
  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)]

  /// The newest entries of the audit first.
  ///
  /// - Parameter id: only entries before this one; nil: all.
  func newestAuditEntries(before id: Int64?, limit: Int) async throws -> [AuditEntry]
}
