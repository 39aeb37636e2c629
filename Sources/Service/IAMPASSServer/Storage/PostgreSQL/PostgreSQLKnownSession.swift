import Synchronization

extension PostgreSQLStorage {
  /// Waits once for the database. ``changeSession(_:by:)`` with an id waits twice, once of that while it holds the lock that
  /// all writers share.
  func changeSession(
    _ known: SessionView, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)? {
    var session = known.session
    guard try step(&session) else { return (known, false) }
    // The view may have to tell more than before.
    let tellsTheSame =
      session.showsApproval == known.session.showsApproval && session.showsToken == known.session.showsToken
    if tellsTheSame, try await store(session, inPlaceOf: known.session) {
      return (SessionView(session: session, approval: known.approval, userID: known.userID), true)
    }
    return try await changeSession(known.session.id, by: step)
  }

  /// Stores what changes in a session's life, if the stored session is still `former` in all of that.
  ///
  /// - Returns: false if it is not, or if that is not known.
  private func store(_ session: Session, inPlaceOf former: Session) async throws -> Bool {
    let found = FoundRow()
    try await write { db in
      try db.changeWithCommit(
        """
        UPDATE session SET status = $1, ending = $2, approved_at = $3, collected_at = $4, ended_at = $5, delivered = $6,
          delivered_at = $7, method = $8, answered_by = $9
        WHERE id = $10 AND status = $11 AND ending IS NOT DISTINCT FROM $12 AND approved_at IS NOT DISTINCT FROM $13
          AND collected_at IS NOT DISTINCT FROM $14 AND ended_at IS NOT DISTINCT FROM $15 AND delivered = $16
          AND delivered_at = $17 AND method = $18 AND answered_by IS NOT DISTINCT FROM $19
        RETURNING id
        """, session.changingFields + [session.id] + former.changingFields
      ) { found.isFound.store(!$0.isEmpty, ordering: .relaxed) }
    }
    return found.isFound.load(ordering: .relaxed)
  }
}

private final class FoundRow: Sendable {
  let isFound = Atomic<Bool>(false)
}

extension Session {
  /// In the order of the columns above.
  fileprivate var changingFields: [any StorableValue] {
    [
      lifecycle.status.word, lifecycle.ending?.rawValue, lifecycle.approvedAt?.milliseconds,
      lifecycle.collectedAt?.milliseconds, lifecycle.endedAt?.milliseconds, delivered.word, deliveredAt.milliseconds,
      method.rawValue, answeredBy,
    ]
  }
}
