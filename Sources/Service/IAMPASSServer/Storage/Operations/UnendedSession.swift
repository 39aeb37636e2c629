import IAMPASSProtocol

/// A session that had not ended when it was last stored, for what ends it: also one that this version cannot read, because
/// its row is damaged, or has a word of a newer version.
///
/// Whoever takes a user, a phone or a computer away ends such a session too, and all others beside it.
struct UnendedSession {
  let id: String
  /// Whether it waits for its answer. One that cannot be read does, unless its row has the time of an approval.
  let isUnanswered: Bool
  /// Nil: it cannot be read.
  let session: Session?
  private let context: String?

  init(row: some StorageRow) throws {
    id = try row.get("id")
    let read = (try? Session(row: row)).flatMap { $0.hasUnknownStatus ? nil : $0 }
    session = read
    isUnanswered = read?.lifecycle.isUnanswered ?? ((try? row.time("approved_at")) == nil)
    context = try? row.get("context") as String
  }

  /// Ends these sessions, and returns those that this closed.
  static func close(
    _ sessions: [UnendedSession], _ ending: SessionLifecycle.Ending, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    var closed = try Session.close(sessions.compactMap(\.session), ending, at: now, in: db)
    for one in sessions where one.session == nil {
      if let session = try one.closeUnread(ending, at: now, in: db) { closed.append(session) }
    }
    return closed
  }

  /// Ends a session that cannot be read.
  ///
  /// - Returns: nil if it still cannot be read. It has ended all the same.
  func closeUnread(
    _ ending: SessionLifecycle.Ending, at now: UnixTime, in db: some StorageTransaction
  ) throws -> Session? {
    // The audit's triggers read the context, and fail if it is damaged.
    try db.execute(
      """
      UPDATE session SET status = $1, ending = $2, ended_at = $3, context = $4 WHERE id = $5 AND ended_at IS NULL
      """, SessionStatus.closed.word, ending.rawValue, now.milliseconds, readableContext, id)
    return try db.first("SELECT * FROM session WHERE id = $1", id).flatMap { try? Session(row: $0) }
  }

  private var readableContext: String {
    guard let context, (try? SignInContext(JSON(parsing: Array(context.utf8)))) != nil else { return "{}" }
    return context
  }
}

extension Session {
  /// Whether a newer version stored its status. It may be live.
  fileprivate var hasUnknownStatus: Bool { if case .unknown = lifecycle.status { true } else { false } }
}
