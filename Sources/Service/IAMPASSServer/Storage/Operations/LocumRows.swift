import IAMPASSProtocol

extension User {
  /// Removes the user's locum.
  static func takeLocum(of user: Int64, in db: some StorageTransaction) throws {
    try db.execute("UPDATE app_user SET locum_phone = NULL WHERE id = $1", user)
  }

  /// The user of this Unix name on the application's list, or of this id.
  static func named(_ name: String, application: String, in db: some StorageTransaction) throws -> User? {
    let listed = try db.first(
      "SELECT user_id FROM listed_user WHERE application = $1 AND name = $2 AND user_id IS NOT NULL", application, name)
    if let listed { return try find(listed.get("user_id") as Int64, application: application, in: db) }
    return try find(name, application: application, in: db)
  }

  /// How often a locum was recently allowed for the user.
  fileprivate func helped(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    let row = try db.first(
      "SELECT count(*) AS helped FROM audit WHERE user_id = $1 AND event = 'locum allowed' AND noted_at > $2", id,
      now.advanced(seconds: -Locum.window).milliseconds)
    return Int(try row?.get("helped") as Int64? ?? 0)
  }
}

extension StorageEngine {
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
      try db.execute(
        "UPDATE app_user SET locum_phone = $1, locum_user = $2, locum_name = $3, locum_until = $4 WHERE id = $5",
        locum.phone, locum.user, locum.name, now.advanced(seconds: Locum.lifetime).milliseconds, user.id)
      return AllowedLocum(administrator: locum.name, lifetime: Locum.lifetime)
    }
  }
}
