import GRDB
import IAMPASSProtocol

extension SQLiteStorage {
  /// Uses the nonce together with all others that wait by then.
  ///
  /// When this returns, `kill -9` does not undo it, but a power cut may, until the next ``write(_:)``. Whatever the request
  /// goes on to change is stored by such a write, which brings the nonce to the disk with it.
  ///
  /// - Throws: ``StorageBusy`` if it had no turn in time. Then it is not used.
  func useNonce(_ nonceUse: NonceUse) async throws -> NonceUse.Outcome {
    try await withCheckedThrowingContinuation { continuation in
      if nonceUses.add(nonceUse, continuation) { askForTurn() }
    }
  }

  /// Asks for a turn. Other writers have their turn between two of these.
  private func askForTurn() {
    pool.asyncWriteWithoutTransaction { db in
      useNonces(nonceUses.take(), in: db)
      if nonceUses.endTurn() { askForTurn() }
    }
  }

  /// One transaction. If it fails, each has a transaction of its own: a damaged row must not fail the others' requests.
  private func useNonces(_ waiters: [NonceUseQueue.Waiter], in db: Database) {
    guard !waiters.isEmpty else { return }
    do {
      let outcomes = try transact(.normal, in: db) { try waiters.map(\.nonceUse).perform(in: $0, sessions, seals) }
      for (waiter, outcome) in zip(waiters, outcomes) { waiter.resume(.success(outcome)) }
    } catch  where waiters.count > 1 && StorageTrouble(error) != .locked {
      for waiter in waiters { useNonces([waiter], in: db) }
    } catch {
      for waiter in waiters { waiter.resume(.failure(error)) }
    }
  }
}

extension NonceTimes {
  /// Whether this nonce is now used for the first time.
  ///
  /// - Parameters:
  ///   - client: whose signature it was; nonces of different clients do not meet.
  ///   - forgetAt: when the request's time stamp alone refuses it.
  ///   - now: service time.
  static func useNonce(
    _ nonce: String, client: String, forgetAt: UnixTime, at now: UnixTime, in db: Database
  ) throws -> Bool {
    try db.execute(
      """
      INSERT OR IGNORE INTO spent_nonce (client, nonce, forget_at, spent_at) SELECT $1, $2, $3, $4
      WHERE NOT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until > $3)
        AND NOT EXISTS (SELECT 1 FROM forgotten_nonces WHERE $3 BETWEEN first AND last)
      """, client, nonce, forgetAt.milliseconds, now.milliseconds)
    return db.changesCount == 1
  }
}

extension [NonceUse] {
  /// Uses the nonces one after the other: of two with the same nonce, the first wins. Reads sessions afterwards.
  fileprivate func perform(
    in db: Database, _ sessions: KnownSessions, _ seals: Seals
  ) throws -> [NonceUse.Outcome] {
    let areNew = try map { try $0.isFirstUse(in: db) }
    try sessions.follow(db)
    let mark = try HistoryMark.current(in: db)
    return try zip(self, areNew).map { nonceUse, isNew in
      var outcome = NonceUse.Outcome(isNew: isNew, moment: nil)
      guard isNew else { return outcome }
      if let id = nonceUse.signInClient { outcome.signInClient = try SignInClient.find(id, in: db, seals) }
      if let session = nonceUse.session {
        outcome.moment = SessionMoment(view: try sessions.session(session, in: db), mark: mark)
      }
      return outcome
    }
  }
}

extension NonceUse {
  fileprivate func isFirstUse(in db: Database) throws -> Bool {
    let isNew = try NonceTimes.useNonce(
      nonce.value, client: nonce.owner, forgetAt: nonce.forgetAt, at: now, in: db)
    if isNew, let credential = nonce.credential { try HostCredential.use(credential, at: now, in: db) }
    return isNew
  }
}
