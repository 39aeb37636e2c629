import DeviceProtocol
import GRDB

extension PresenceBySilence {
  private static let live = """
    SELECT phone.* FROM phone JOIN user ON user.id = phone.user JOIN application ON application.id = user.application
    WHERE phone.cut_off_at IS NULL
    """
  private static let counts = "application.silence_leaves AND application.walkaway"

  /// Whose phones' silence counts.
  static func applications(in db: Database) throws -> Set<String> {
    try String.fetchSet(db, sql: "SELECT id FROM application WHERE " + counts)
  }

  /// Lets the silence since the last look count only as far as the service was listening.
  static func beginToListen(_ look: Look, since last: Look?, in db: Database) throws {
    for application in look.applications {
      guard let credit = look.credit(to: application, since: last) else { continue }
      try db.execute(
        sql: """
          UPDATE phone SET heard_at = min(?1, heard_at + ?2) WHERE heard_at IS NOT NULL AND cut_off_at IS NULL
            AND user IN (SELECT id FROM user WHERE application = ?3)
          """,
        arguments: [look.time.milliseconds, credit, application])
    }
  }

  /// Notes that the phone is there. Its sessions come back if they left because of silence.
  static func hear(_ phone: Phone, at now: UnixTime, in db: Database) throws -> [Session] {
    // An explicit leave lasts until an explicit return. Read again: it may be newer than `phone`.
    let isBack = try Bool.fetchOne(
      db, sql: "SELECT is_silent AND presence = ? FROM phone WHERE id = ?",
      arguments: [Presence.present.rawValue, phone.id])
    try db.execute(
      sql: "UPDATE phone SET heard_at = ?, is_silent = 0 WHERE id = ?", arguments: [now.milliseconds, phone.id])
    guard isBack == true, let user = phone.user else { return [] }
    return try Session.move(allOf: phone.id, user: user, to: .present, at: now, in: db)
  }

  /// Lets the sessions of phones leave that were silent for too long.
  static func leave(at now: UnixTime, in db: Database) throws -> [Session] {
    let sql = live + " AND \(counts) AND phone.heard_at < ? AND NOT phone.is_silent"
    let phones = try Row.fetchAll(db, sql: sql, arguments: [deadline(at: now).milliseconds])
    var changed: [Session] = []
    for phone in try phones.map(Phone.init(row:)) {
      try db.execute(sql: "UPDATE phone SET is_silent = 1 WHERE id = ?", arguments: [phone.id])
      if let user = phone.user { changed += try Session.move(allOf: phone.id, user: user, to: .away, at: now, in: db) }
    }
    return changed
  }

  /// Whether the phone was silent; nil if the application does not count silence, so that nothing is written for each
  /// request. A silent phone is back even if the setting was switched off meanwhile.
  ///
  /// - Parameter isAsking: the phone asks for its requests. A phone that never did may hear of them in another way, and
  ///   its silence is not counted.
  static func wasSilent(_ phone: Phone, isAsking: Bool, in db: Database) throws -> Bool? {
    let sql = live + " AND phone.id = ? AND (phone.is_silent OR \(counts) AND (? OR phone.heard_at IS NOT NULL))"
    return try Row.fetchOne(db, sql: sql, arguments: [phone.id, isAsking])?.get("is_silent")
  }
}
