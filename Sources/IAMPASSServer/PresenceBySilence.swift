import DeviceProtocol
import GRDB
import Synchronization

/// Where an application wants it, a phone that says nothing for a while has left.
///
/// For `iampass-phone` alone, which always asks for requests: browsers freeze pages that nobody looks at.
///
/// Only a silence that this service has listened to counts: not its own absence, not the time while the setting was off,
/// and not a step of the clock.
enum PresenceBySilence {
  /// Seconds. A question is held for a minute at most, and tried again for some time.
  static let patience: Int64 = 150
  /// Seconds between two looks at the most. Housekeeping looks every 20 s: after more it was held up, its computer slept
  /// or the clock was set, and nobody knows who would have spoken.
  static let longestGap: Int64 = 60

  static let schema = """
    ALTER TABLE application ADD COLUMN silence_leaves INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE phone ADD COLUMN heard_at INTEGER;
    ALTER TABLE phone ADD COLUMN is_silent INTEGER NOT NULL DEFAULT 0;
    """

  /// Browsers say of each request what made it, and no page can keep them from it.
  static func isBrowser(_ request: ServiceRequest) -> Bool {
    !request.values(of: ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"]).isEmpty
  }

  private static let live = """
    SELECT phone.* FROM phone JOIN user ON user.id = phone.user JOIN application ON application.id = user.application
    WHERE phone.cut_off_at IS NULL
    """
  private static let counts = "application.silence_leaves AND application.walkaway"

  /// One look for silent phones: when it was, and at whose.
  struct Look: Sendable {
    let time: UnixTime
    let applications: Set<String>

    init(at now: UnixTime, in db: Database) throws {
      time = now
      applications = try String.fetchSet(db, sql: "SELECT id FROM application WHERE " + counts)
    }

    /// Whose silence begins to count now: nobody was listening to them since the look before.
    func newcomers(since last: Look?) -> Set<String> {
      guard let last, (0...longestGap * 1_000).contains(time.milliseconds(since: last.time)) else {
        return applications
      }
      return applications.subtracting(last.applications)
    }
  }

  /// The last look of this process.
  final class LastLook: Sendable {
    private let look = Mutex<Look?>(nil)
    var value: Look? { look.withLock { $0 } }
    func remember(_ new: Look) { look.withLock { $0 = new } }
  }

  /// Counts the silence of these applications' phones from now on.
  static func beginToListen(to applications: Set<String>, at now: UnixTime, in db: Database) throws {
    for application in applications {
      try db.execute(
        sql: """
          UPDATE phone SET heard_at = ? WHERE heard_at IS NOT NULL AND cut_off_at IS NULL
            AND user IN (SELECT id FROM user WHERE application = ?)
          """,
        arguments: [now.milliseconds, application])
    }
  }

  /// Notes that the phone is there. Its sessions come back where silence had them leave.
  static func hear(_ phone: Phone, at now: UnixTime, in db: Database) throws -> [Session] {
    // Who said that he leaves is away until he says that he is back; maybe since his phone was read.
    let isBack = try Bool.fetchOne(
      db, sql: "SELECT is_silent AND presence = ? FROM phone WHERE id = ?",
      arguments: [Presence.present.rawValue, phone.id])
    try db.execute(
      sql: "UPDATE phone SET heard_at = ?, is_silent = 0 WHERE id = ?", arguments: [now.milliseconds, phone.id])
    guard isBack == true, let user = phone.user else { return [] }
    return try change(of: user, in: db) { $0.comeBack(at: now) }
  }

  /// Has the sessions of phones leave that were not heard of for too long.
  static func leave(at now: UnixTime, in db: Database) throws -> [Session] {
    let sql = live + " AND \(counts) AND phone.heard_at < ? AND NOT phone.is_silent"
    let phones = try Row.fetchAll(db, sql: sql, arguments: [now.advanced(seconds: -patience).milliseconds])
    var changed: [Session] = []
    for phone in try phones.map(Phone.init(row:)) {
      try db.execute(sql: "UPDATE phone SET is_silent = 1 WHERE id = ?", arguments: [phone.id])
      if let user = phone.user { changed += try change(of: user, in: db) { $0.leave(at: now) } }
    }
    return changed
  }

  /// Whether anybody wants to know: else nothing is written for each question. Who was silent is back also where the
  /// setting was switched off meanwhile.
  ///
  /// - Parameter isAsking: for requests. Who has never asked for them may hear of them in another way, and is not counted.
  static func isWanted(for phone: Phone, isAsking: Bool, in db: Database) throws -> Bool {
    let sql = live + " AND phone.id = ? AND (phone.is_silent OR \(counts) AND (? OR phone.heard_at IS NOT NULL))"
    return try Row.fetchOne(db, sql: sql, arguments: [phone.id, isAsking]) != nil
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
  /// A phone said something that was proven and is no repetition.
  ///
  /// - Parameter isAsking: for its requests, with which counting begins.
  func heard(_ phone: Phone, _ call: Call, isAsking: Bool = false) async throws {
    guard !PresenceBySilence.isBrowser(call.request) else { return }
    guard try await storage.read({ try PresenceBySilence.isWanted(for: phone, isAsking: isAsking, in: $0) }) else {
      return
    }
    let now = clock()
    announceMoves(of: try await storage.write { try PresenceBySilence.hear(phone, at: now, in: $0) })
  }

  func leaveForSilence(at now: UnixTime) async throws {
    let last = lastLook.value
    let (look, changed) = try await storage.write { db in
      let look = try PresenceBySilence.Look(at: now, in: db)
      try PresenceBySilence.beginToListen(to: look.newcomers(since: last), at: now, in: db)
      return (look, try PresenceBySilence.leave(at: now, in: db))
    }
    // Only once it is stored: a look that failed has listened to nobody.
    lastLook.remember(look)
    announceMoves(of: changed)
  }

  private func announceMoves(of sessions: [Session]) {
    for session in sessions {
      audit.moved(session)
      announceChange(of: session)
    }
  }
}
