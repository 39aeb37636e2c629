import IAMPASSProtocol

/// The service's housekeeping, and data for its operator.
protocol HousekeepingStore: Sendable {
  /// Stores the service's time for the next boot. A power cut may undo the last call.
  func keepTime() async throws

  /// Deletes the oldest data of one kind that is no longer needed, at most ``Forgettable/portion`` rows. Writers wait
  /// meanwhile. While nonces are deleted, signed requests wait.
  ///
  /// A power cut may undo it, and the next round repeats it.
  ///
  /// - Parameter wall: the wall clock's time. A nonce is kept as long as the wall clock would allow its request.
  /// - Returns: whether there may be more.
  func forgetOld(_ kind: Forgettable, at now: UnixTime, wall: UnixTime) async throws -> Bool

  /// The amount of stored data.
  func stock() async throws -> StorageStock

  /// Throws if the storage cannot be read.
  func answer() async throws

  /// Why this server cannot use the database's sealed secrets; nil if it can, or if there are none. Values are not
  /// opened.
  func sealProblem() async throws -> SealFault?

  /// Entries of the audit with greater ids, oldest first, to read all of them in portions.
  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry]

  /// Kept answers of phones, oldest first, each as a line of JSON with the number to continue after.
  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)]

  /// Entries of the audit, newest first.
  ///
  /// - Parameter id: only entries before this one; nil: all.
  func newestAuditEntries(before id: Int64?, limit: Int) async throws -> [AuditEntry]
}

/// The kinds of data that are deleted once they are old. Each kind is deleted separately, so that none waits for
/// another.
enum Forgettable: CaseIterable, Sendable {
  case nonces, links, blocks, answers, endedSessions, auditEntries, codeUses, consoleVisits
  /// What no longer works, and would only be told so.
  case cutOffPhones, revokedCredentials, joinings
  /// An engine's own notes.
  case notes

  /// The most rows that are deleted in one step.
  static let portion = 1_000
  /// The most steps for one kind in a round. The rest is left to the next round.
  static let greatestPortions = 250
}

extension HousekeepingStore {
  /// Does one round: deletes old data, up to a round's bound.
  ///
  /// - Throws: the first failure, after all other kinds have had their turn.
  func forgetOld(
    at now: UnixTime, wall: UnixTime, keeping times: KeptTimes = .usual, portions: Int = Forgettable.greatestPortions
  ) async throws {
    var failure: (any Error)?
    for kind in Forgettable.allCases {
      do {
        for _ in 0..<portions where !Task.isCancelled {
          guard try await forgetOld(kind, at: times.date(for: kind, at: now), wall: wall) else { break }
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}
