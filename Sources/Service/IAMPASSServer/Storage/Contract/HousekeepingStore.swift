import IAMPASSProtocol

/// What the service does by itself, and what its operator looks at.
protocol HousekeepingStore: Sendable {
  /// Keeps how far time has come, for the next boot. A power cut may undo the last of it.
  func keepTime() async throws

  /// Forgets the oldest of one kind that is no longer needed: ``Forgettable/portion`` at most. Whoever stores something
  /// meanwhile waits as long as that takes; while nonces are forgotten, whoever signs a request does.
  ///
  /// A power cut may undo it: the next round does it again.
  ///
  /// - Parameter wall: the wall clock's time. A nonce whose request it has yet to refuse is kept.
  /// - Returns: whether there may be more.
  func forgetOld(_ kind: Forgettable, at now: UnixTime, wall: UnixTime) async throws -> Bool

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

/// What is forgotten once it is old enough. Each kind is forgotten by itself, so that none waits for another one.
enum Forgettable: CaseIterable, Sendable {
  case nonces, links, blocks, answers, endedSessions, auditEntries, codeUses, consoleVisits
  /// What an engine has noted for itself.
  case notes

  /// How many are forgotten in one step.
  static let portion = 1_000
  /// How many steps of one kind a round has: more is left to the next round.
  static let greatestPortions = 250
}

extension HousekeepingStore {
  /// One round: forgets all that is old, or as much of it as a round may.
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
