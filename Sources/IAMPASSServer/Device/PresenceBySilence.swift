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
  /// Seconds between two looks at the most. After more, housekeeping was held up, its computer slept or the clock was set,
  /// and nobody knows who would have spoken: no more than the usual pause between two looks counts then.
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
      guard let last, time >= last.time else { return applications }
      return applications.subtracting(last.applications)
    }

    /// Milliseconds since the look before in which nobody was listening to the others.
    func unheard(since last: Look?) -> Int64 {
      guard let last else { return 0 }
      let gap = time.milliseconds(since: last.time)
      return gap > longestGap * 1_000 ? gap - SignInService.housekeepingInterval * 1_000 : 0
    }
  }

  /// The last look of this process.
  final class LastLook: Sendable {
    private let look = Mutex<Look?>(nil)
    var value: Look? { look.withLock { $0 } }
    func remember(_ new: Look) { look.withLock { $0 = new } }
  }

  /// Has the silence since the last look count as far as somebody was listening.
  static func beginToListen(_ look: Look, since last: Look?, in db: Database) throws {
    let newcomers = look.newcomers(since: last)
    let unheard = look.unheard(since: last)
    for application in look.applications where unheard > 0 || newcomers.contains(application) {
      try db.execute(
        sql: """
          UPDATE phone SET heard_at = min(?1, heard_at + ?2) WHERE heard_at IS NOT NULL AND cut_off_at IS NULL
            AND user IN (SELECT id FROM user WHERE application = ?3)
          """,
        arguments: [
          look.time.milliseconds, newcomers.contains(application) ? look.time.milliseconds : unheard, application,
        ])
    }
  }

  /// Notes that the phone is there. Its sessions come back where silence had them leave.
  static func hear(_ phone: Phone, at now: UnixTime, in db: Database) throws -> [Session] {
    // An explicit leave lasts until an explicit return. Read again: it may be newer than `phone`.
    let isBack = try Bool.fetchOne(
      db, sql: "SELECT is_silent AND presence = ? FROM phone WHERE id = ?",
      arguments: [Presence.present.rawValue, phone.id])
    try db.execute(
      sql: "UPDATE phone SET heard_at = ?, is_silent = 0 WHERE id = ?", arguments: [now.milliseconds, phone.id])
    guard isBack == true, let user = phone.user else { return [] }
    return try Session.move(all: user, to: .present, at: now, in: db)
  }

  /// Has the sessions of phones leave that were not heard of for too long.
  static func leave(at now: UnixTime, in db: Database) throws -> [Session] {
    let sql = live + " AND \(counts) AND phone.heard_at < ? AND NOT phone.is_silent"
    let phones = try Row.fetchAll(db, sql: sql, arguments: [now.advanced(seconds: -patience).milliseconds])
    var changed: [Session] = []
    for phone in try phones.map(Phone.init(row:)) {
      try db.execute(sql: "UPDATE phone SET is_silent = 1 WHERE id = ?", arguments: [phone.id])
      if let user = phone.user { changed += try Session.move(all: user, to: .away, at: now, in: db) }
    }
    return changed
  }

  /// Whether the phone was silent; nil where nobody wants to know, and nothing need be written for each question. Who was
  /// silent is back also where the setting was switched off meanwhile.
  ///
  /// - Parameter isAsking: for requests. Who has never asked for them may hear of them in another way, and is not counted.
  static func wasSilent(_ phone: Phone, isAsking: Bool, in db: Database) throws -> Bool? {
    let sql = live + " AND phone.id = ? AND (phone.is_silent OR \(counts) AND (? OR phone.heard_at IS NOT NULL))"
    return try Row.fetchOne(db, sql: sql, arguments: [phone.id, isAsking])?.get("is_silent")
  }
}

extension ServiceCore {
  /// A phone said something that was proven and is no repetition.
  ///
  /// - Parameter isAsking: for its requests, with which counting begins.
  func heard(_ phone: Phone, _ call: Call, isAsking: Bool = false) async throws {
    guard !PresenceBySilence.isBrowser(call.request) else { return }
    let wasSilent = try await storage.read { try PresenceBySilence.wasSilent(phone, isAsking: isAsking, in: $0) }
    guard let wasSilent else { return }
    let now = clock()
    let hear = { @Sendable db in try PresenceBySilence.hear(phone, at: now, in: db) }
    // A time that is lost is heard again, or counts anew after the start.
    announceMoves(of: try await wasSilent ? storage.write(hear) : storage.note(hear))
  }
}

extension SignInService {
  func leaveForSilence(at now: UnixTime) async throws {
    let last = lastLook.value
    let (look, changed) = try await storage.write { db in
      let look = try PresenceBySilence.Look(at: now, in: db)
      try PresenceBySilence.beginToListen(look, since: last, in: db)
      return (look, try PresenceBySilence.leave(at: now, in: db))
    }
    // Only once it is stored: a look that failed has listened to nobody.
    lastLook.remember(look)
    core.announceMoves(of: changed)
  }
}
