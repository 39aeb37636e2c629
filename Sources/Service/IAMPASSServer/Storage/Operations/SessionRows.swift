import DeviceProtocol
import IAMPASSProtocol

extension Session {
  /// Nobody answers a session that has ended. So one is read although it has a method, phones or a challenge of another
  /// version: its client must learn that it has ended.
  init(row: some StorageRow) throws {
    lifecycle = try SessionLifecycle(row: row)
    let hasEnded = lifecycle.endedAt != nil
    id = try row.get("id")
    token = try Secret(row.get("token"))
    secret = try StoredSecret(stored: row.get("secret"))
    application = try row.get("application")
    credential = try row.get("credential")
    bootID = try row.get("boot_id")
    replySecret = try StoredSecret(stored: row.get("reply_secret"))
    address = try row.get("address")
    user = try row.get("user_id")
    source = try row.get("source")
    context = try SignInContext(JSON(parsing: Array((row.get("context") as String).utf8)))
    let unneeded: AuthenticationMethod? = hasEnded ? .acceptance : nil
    guard let method = try AuthenticationMethod(rawValue: row.get("method")) ?? unneeded else {
      throw MessageError.member("method")
    }
    self.method = method
    asked = try Self.asked(in: row.get("asked"), hasEnded: hasEnded)
    answeredBy = try row.get("answered_by")
    locum = try (row.get("locum_phone") as String?).map { phone in
      try Locum(phone: phone, user: row.get("locum_user"), name: row.get("locum_name"))
    }
    answerNonce = try row.get("answer_nonce")
    heldBack = try row.get("held_back")
    matchCode = try (row.get("match_code") as String?).map { Secret($0) }
    challenge = try Self.challenge(in: row.get("challenge"), hasEnded: hasEnded)
    idTokenNonce = try row.get("id_token_nonce")
    // A damaged row must not count as an approval.
    guard lifecycle.status != .active || lifecycle.approvedAt != nil else { throw DamagedRow(column: "approved_at") }
    delivered = try SessionStatus(word: row.get("delivered"))
    deliveredAt = try UnixTime(milliseconds: row.get("delivered_at"))
  }

  private static func asked(in text: String?, hasEnded: Bool) throws -> [String: AuthenticationMethod]? {
    do { return try asked(in: text) } catch {
      guard hasEnded else { throw error }
      return [:]
    }
  }

  private static func challenge(in text: String?, hasEnded: Bool) throws -> ApprovalChallenge? {
    guard let text else { return nil }
    let challenge = ApprovalChallenge(text: text)
    guard challenge != nil || hasEnded else { throw DamagedRow(column: "challenge") }
    return challenge
  }
}

extension SessionLifecycle {
  init(row: some StorageRow) throws {
    try self.init(
      status: SessionStatus(word: row.get("status")),
      ending: (row.get("ending") as String?).flatMap(Ending.init(rawValue:)),
      startedAt: UnixTime(milliseconds: row.get("started_at")), duration: row.get("duration"),
      answerTime: row.get("answer_time"),
      approvedAt: row.time("approved_at"), collectedAt: row.time("collected_at"), endedAt: row.time("ended_at"))
  }
}

extension Session {
  static func find(id: String, in db: some StorageTransaction) throws -> Session? {
    try db.first("SELECT * FROM session WHERE id = $1", id).map(Session.init(row:))
  }

  /// The user's sessions that had not ended when they were last stored, oldest first. Those that cannot be read are left
  /// out: they must not keep the user from all others.
  static func unended(of user: Int64, in db: some StorageTransaction) throws -> [Session] {
    try unendedOrUnread(of: user, in: db).read
  }

  /// As ``unended(of:in:)``, beside those that were left out.
  static func unendedOrUnread(
    of user: Int64, in db: some StorageTransaction
  ) throws -> (read: [Session], unread: [UnendedSession]) {
    var (read, unread): ([Session], [UnendedSession]) = ([], [])
    for row in try unendedRows(of: user, in: db) {
      if let session = try? Session(row: row) {
        read.append(session)
      } else {
        unread.append(try UnendedSession(row: row))
      }
    }
    return (read, unread)
  }

  /// As ``unended(of:in:)``, also those that cannot be read.
  static func endable(of user: Int64, in db: some StorageTransaction) throws -> [UnendedSession] {
    try unendedRows(of: user, in: db).map(UnendedSession.init(row:))
  }

  private static func unendedRows<Transaction: StorageTransaction>(
    of user: Int64, in db: Transaction
  ) throws -> [Transaction.Row] {
    try db.all(
      """
      SELECT * FROM session /*SQLite INDEXED BY live_session */
      WHERE user_id = $1 AND ended_at IS NULL ORDER BY started_at, number
      """, user)
  }

  /// As ``endable(of:in:)``, for all of these users.
  static func endable(ofAny users: [Int64], in db: some StorageTransaction) throws -> [UnendedSession] {
    try db.all(
      """
      SELECT * FROM session /*SQLite INDEXED BY live_session */
      WHERE user_id IN (SELECT value::bigint FROM json_array_elements_text($1::json)) AND ended_at IS NULL
      ORDER BY started_at, number
      """, users
    ).map(UnendedSession.init(row:))
  }

  /// The sessions of other users that a phone may answer as a locum, oldest first.
  static func unended(forLocum phone: String, in db: some StorageTransaction) throws -> [Session] {
    try db.all(
      "SELECT * FROM session WHERE locum_phone = $1 AND ended_at IS NULL AND approved_at IS NULL ORDER BY started_at",
      phone
    ).compactMap { try? Session(row: $0) }
  }

  /// Requests that locums recently approved for the user, oldest first.
  static func byLocums(of user: Int64, at now: UnixTime, in db: some StorageTransaction) throws -> [LocumApproval] {
    let start = now.advanced(seconds: -Locum.shownTime).milliseconds
    return try db.all(
      """
      SELECT * FROM session /*SQLite INDEXED BY helped_session */
      WHERE user_id = $1 AND locum_phone IS NOT NULL AND started_at > $2 ORDER BY started_at
      """, user, start
    ).compactMap { try? Session(row: $0) }.compactMap(LocumApproval.init)
  }

  /// With opened secrets.
  func opened(in db: some StorageTransaction, _ seals: Seals) throws -> Session {
    var session = self
    session.secret = try secret.opened(at: .session(id), in: db, seals)
    session.replySecret = try replySecret.opened(at: .reply(id), in: db, seals)
    return session
  }

  /// - Parameter mark: the database's, from this transaction.
  func insert(in db: some StorageTransaction, _ seals: Seals, under mark: SealMark) throws {
    let stored = try seals.close(secret.value, at: .session(id), under: mark)
    let storedReply = try seals.close(replySecret.value, at: .reply(id), under: mark)
    try db.execute(
      """
      INSERT INTO session (id, token, secret, application, user_id, source, context, answer_nonce, status, started_at,
        duration, delivered, delivered_at, credential, reply_secret, address, answer_time, match_code, method,
        boot_id, challenge, id_token_nonce, asked, locum_phone, locum_user, locum_name)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
        $23, $24, $25, $26)
      """, id, token.exposedValue, stored, application, user, source,
      String(decoding: context.json.encoded(), as: UTF8.self), answerNonce, lifecycle.status.word,
      lifecycle.startedAt.milliseconds, lifecycle.duration, delivered.word, deliveredAt.milliseconds,
      credential, storedReply, address, lifecycle.answerTime, matchCode?.exposedValue, method.rawValue,
      bootID, challenge?.text, idTokenNonce, askedText, locum?.phone, locum?.user, locum?.name)
  }

  /// Counts another request of its source that came while this one was open.
  func countHeldBack(in db: some StorageTransaction) throws {
    try db.execute("UPDATE session SET held_back = held_back + 1 WHERE id = $1", id)
  }

  /// Stores the fields that change in a session's life.
  func update(in db: some StorageTransaction) throws {
    try db.execute(
      """
      UPDATE session SET status = $1, ending = $2, approved_at = $3, collected_at = $4, ended_at = $5, delivered = $6,
        delivered_at = $7, method = $8, answered_by = $9 WHERE id = $10
      """, lifecycle.status.word, lifecycle.ending?.rawValue, lifecycle.approvedAt?.milliseconds,
      lifecycle.collectedAt?.milliseconds, lifecycle.endedAt?.milliseconds, delivered.word,
      deliveredAt.milliseconds, method.rawValue, answeredBy, id)
  }

  /// A selection of a user's sessions.
  enum Selection: Sendable { case live, unanswered }

  /// Closes a user's sessions and returns those that this closed.
  static func close(
    all selection: Selection, of user: Int64, _ ending: SessionLifecycle.Ending, at now: UnixTime,
    in db: some StorageTransaction
  ) throws -> [Session] {
    let meant = try endable(of: user, in: db).filter { selection == .live || $0.isUnanswered }
    return try UnendedSession.close(meant, ending, at: now, in: db)
  }

  /// Closes the sessions that had not ended, and returns them.
  static func close(
    _ sessions: [Session], _ ending: SessionLifecycle.Ending, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    var closed: [Session] = []
    for var session in sessions where session.lifecycle.endedAt == nil {
      session.lifecycle.close(ending, at: now)
      try session.update(in: db)
      closed.append(session)
    }
    return closed
  }

  /// Makes the sessions that follow the phone leave or come back with it. Returns the changed sessions.
  static func move(
    allOf phone: String, user: Int64, to presence: Presence, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [Session] {
    let live = try Phone.liveIDs(of: user, in: db)
    // One that cannot be read must not keep the others here, nor the sessions of other phones that fell silent.
    let meant = try endable(of: user, in: db).compactMap(\.session).filter { $0.follows(phone, among: live) }
    return try change(meant, by: { $0.move(to: presence, at: now) }, in: db)
  }

  /// How long clients may ask about an ended session, in seconds: a laptop may sleep for weeks.
  static let keptAfterEnd: Int64 = 31 * 86_400

  /// - Returns: the number of deleted sessions.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM session WHERE id IN (SELECT id FROM session WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)
      RETURNING ended_at
      """, now.advanced(seconds: -keptAfterEnd).milliseconds, Forgettable.portion
    ).count
  }
}
