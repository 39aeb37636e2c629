import GRDB
import IAMPASSProtocol

extension User {
  /// Nobody may answer for the user from now on.
  static func takeLocum(of user: Int64, in db: Database) throws {
    try db.run("UPDATE user SET locum_phone = NULL WHERE id = ?", [user])
  }

  /// By the Unix name on the application's list, or by its own.
  fileprivate static func named(_ name: String, application: String, in db: Database) throws -> User? {
    let listed = try db.firstRow(
      "SELECT user FROM listed_user WHERE application = ? AND name = ? AND user IS NOT NULL", [application, name])
    if let listed { return try find(listed.get("user") as Int64, application: application, in: db) }
    return try find(name, application: application, in: db)
  }

  /// How often somebody was allowed to answer for the user lately.
  fileprivate func helped(at now: UnixTime, in db: Database) throws -> Int {
    try Int.fetchOne(
      db, sql: "SELECT count(*) FROM audit WHERE user = ? AND event = 'locum allowed' AND noted_at > ?",
      arguments: [id, now.advanced(seconds: -Locum.window).milliseconds]) ?? 0
  }
}

extension SQLiteStorage {
  public func allowLocum(_ order: LocumOrder, at now: UnixTime) async throws -> AllowedLocum {
    try await write { db in
      guard let application = try Application.find(nameOrID: order.application, in: db)?.id else {
        throw LocumRefusal.unknownApplication
      }
      guard let user = try User.named(order.user, application: application, in: db) else {
        throw LocumRefusal.unknownUser
      }
      guard let administrator = try User.named(order.administrator, application: application, in: db) else {
        throw LocumRefusal.unknownAdministrator
      }
      let locum = try Locum(
        for: user, phones: Phone.live(of: user.id, in: db), by: administrator,
        Phone.live(of: administrator.id, in: db), called: order.phone, helped: user.helped(at: now, in: db))
      try db.run(
        "UPDATE user SET locum_phone = ?, locum_user = ?, locum_name = ?, locum_until = ? WHERE id = ?",
        [locum.phone, locum.user, locum.name, now.advanced(seconds: Locum.lifetime).milliseconds, user.id])
      return AllowedLocum(administrator: locum.name, lifetime: Locum.lifetime)
    }
  }
}
