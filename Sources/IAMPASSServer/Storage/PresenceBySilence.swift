import DeviceProtocol
import GRDB
import Synchronization

/// If the application wants it, a phone that says nothing for a while has left.
///
/// Only for `iampass-phone`, which always asks for requests: browsers freeze pages that are not in view.
///
/// Only a silence that this service has listened to counts: not its own absence, not the time while the setting was off,
/// and not a step of the clock.
enum PresenceBySilence {
  /// Seconds. A question is held for a minute at most, and tried again for some time.
  static let patience: Int64 = 150
  /// The longest time between two looks that counts, in seconds. A longer one means that housekeeping was held up, the
  /// computer slept, or its clock was set. The service cannot know which phones would have spoken, and counts no more
  /// than the usual pause between two looks.
  static let longestGap: Int64 = 60

  private static let live = """
    SELECT phone.* FROM phone JOIN user ON user.id = phone.user JOIN application ON application.id = user.application
    WHERE phone.cut_off_at IS NULL
    """
  private static let counts = "application.silence_leaves AND application.walkaway"

  /// One look for silent phones: its time, and the applications whose phones it looked at.
  struct Look: Sendable {
    let time: UnixTime
    let applications: Set<String>

    init(at now: UnixTime, in db: Database) throws {
      time = now
      applications = try String.fetchSet(db, sql: "SELECT id FROM application WHERE " + counts)
    }

    /// The applications whose silence begins to count now: the service did not listen to them before.
    func newcomers(since last: Look?) -> Set<String> {
      guard let last, time >= last.time else { return applications }
      return applications.subtracting(last.applications)
    }

    /// Milliseconds since the last look in which the service did not listen to the others.
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

  /// Lets the silence since the last look count only as far as the service was listening.
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

  /// Notes that the phone is there. Its sessions come back if they left because of silence.
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

  /// Lets the sessions of phones leave that were silent for too long.
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
