import DeviceProtocol
import GRDB

/// Where an application wants it, a phone that says nothing for a while has left.
///
/// For `iampass-phone` alone, which always asks for requests: browsers freeze pages that nobody looks at.
enum PresenceBySilence {
  /// Seconds. A question is held for a minute at most, and tried again for some time.
  static let patience: Int64 = 150

  static let schema = """
    ALTER TABLE application ADD COLUMN silence_leaves INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE phone ADD COLUMN heard_at INTEGER;
    ALTER TABLE phone ADD COLUMN is_silent INTEGER NOT NULL DEFAULT 0;
    """

  /// Browsers say of each request what made it, and no page can keep them from it.
  static func isBrowser(_ request: ServiceRequest) -> Bool {
    !request.values(of: ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"]).isEmpty
  }

  private static let watched = """
    SELECT phone.* FROM phone JOIN user ON user.id = phone.user JOIN application ON application.id = user.application
    WHERE phone.cut_off_at IS NULL AND application.silence_leaves AND application.walkaway
    """

  /// Notes that the phone is there. Its sessions come back where silence had them leave.
  static func hear(_ phone: Phone, at now: UnixTime, in db: Database) throws -> [Session] {
    let wasSilent = try Bool.fetchOne(db, sql: "SELECT is_silent FROM phone WHERE id = ?", arguments: [phone.id])
    try db.execute(
      sql: "UPDATE phone SET heard_at = ?, is_silent = 0 WHERE id = ?", arguments: [now.milliseconds, phone.id])
    // Who said that he leaves is away until he says that he is back.
    guard wasSilent == true, phone.presence == .present, let user = phone.user else { return [] }
    return try change(of: user, in: db) { $0.comeBack(at: now) }
  }

  /// Has the sessions of phones leave that were not heard of for too long.
  static func leave(at now: UnixTime, in db: Database) throws -> [Session] {
    let sql = watched + " AND phone.heard_at < ? AND NOT phone.is_silent"
    let phones = try Row.fetchAll(db, sql: sql, arguments: [now.advanced(seconds: -patience).milliseconds])
    var changed: [Session] = []
    for phone in try phones.map(Phone.init(row:)) {
      try db.execute(sql: "UPDATE phone SET is_silent = 1 WHERE id = ?", arguments: [phone.id])
      if let user = phone.user { changed += try change(of: user, in: db) { $0.leave(at: now) } }
    }
    return changed
  }

  /// Whether anybody wants to know: else nothing is written for each question.
  static func isWanted(for phone: Phone, in db: Database) throws -> Bool {
    try Row.fetchOne(db, sql: watched + " AND phone.id = ?", arguments: [phone.id]) != nil
  }

  private static func change(
    of user: Int64, in db: Database, _ step: (inout SessionLifecycle) -> Void
  ) throws -> [Session] {
    var changed: [Session] = []
    for var session in try Session.unended(of: user, in: db) {
      let before = session.lifecycle.status
      step(&session.lifecycle)
      guard session.lifecycle.status != before else { continue }
      try session.update(in: db)
      changed.append(session)
    }
    return changed
  }
}

extension Service {
  /// A phone asked for its requests.
  func heard(_ phone: Phone, _ call: Call) async throws {
    guard !PresenceBySilence.isBrowser(call.request) else { return }
    guard try await storage.read({ try PresenceBySilence.isWanted(for: phone, in: $0) }) else { return }
    let now = clock()
    announceMoves(of: try await storage.write { try PresenceBySilence.hear(phone, at: now, in: $0) })
  }

  func leaveForSilence(at now: UnixTime) async throws {
    announceMoves(of: try await storage.write { try PresenceBySilence.leave(at: now, in: $0) })
  }

  private func announceMoves(of sessions: [Session]) {
    for session in sessions {
      audit.moved(session)
      announceChange(of: session)
    }
  }
}
