import DeviceProtocol
import GRDB
import IAMPASSProtocol

/// The phones' push subscriptions, and the key with which the service signs for them.
enum PushBook {
  /// Makes the service's key, once and for all. Another key would end every subscription.
  static func makeKey(in db: Database) throws {
    try db.execute(
      sql: "INSERT INTO push_key (id, private_key) VALUES (1, ?)",
      arguments: [try newKey().exposedValue])
  }

  static func newKey() throws -> Secret { try DeviceKey.generate().exported() }

  static func token(in db: Database) throws -> PushToken {
    let stored = try String.fetchOne(db, sql: "SELECT private_key FROM push_key") ?? ""
    return PushToken(key: try DeviceKey(exported: Secret(stored)))
  }

  /// How the user's live phones are rung, without those that cannot be.
  static func bells(of user: Int64, in db: Database) throws -> [PhoneBell] {
    try Phone.live(of: user, in: db).compactMap { try bell(of: $0, user, in: db) }
  }

  private static func bell(of phone: Phone, _ user: Int64, in db: Database) throws -> PhoneBell? {
    if let row = try db.firstRow("SELECT * FROM push_subscription WHERE phone = ?", [phone.id]) {
      guard
        let subscription = PushSubscription(
          try UnverifiedPushSubscription(
            endpoint: row.get("endpoint"), p256dh: row.get("p256dh"), auth: Secret(row.get("auth"))))
      else { return nil }
      return PhoneBell(phone: phone.id, way: .browser(subscription, try token(in: db)))
    }
    let sql = """
      SELECT app_token.service, token, told_at, details, secret FROM app_token
      JOIN user ON user.id = ?
      JOIN notification_service ON notification_service.application = user.application
        AND notification_service.service = app_token.service
      WHERE phone = ?
      """
    guard let row = try db.firstRow(sql, [user, phone.id]),
      let service = try NotificationService(rawValue: row.get("service")),
      let settings = try NotificationSettings(service, details: row.get("details"), secret: Secret(row.get("secret")))
    else { return nil }
    let token = AppToken(
      service: service, token: Secret(try row.get("token")), toldAt: UnixTime(milliseconds: try row.get("told_at")))
    return PhoneBell(phone: phone.id, way: .app(token, settings))
  }

  static func rings(_ phone: String, in db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT 1 FROM push_subscription WHERE phone = ?", arguments: [phone]) ?? false
  }

  static func keep(_ way: PushWay?, of phone: String, at now: UnixTime, in db: Database) throws {
    try db.run("DELETE FROM push_subscription WHERE phone = ?", [phone])
    try db.run("DELETE FROM app_token WHERE phone = ?", [phone])
    switch way {
    case .browser(let subscription):
      try db.run(
        "INSERT INTO push_subscription (phone, endpoint, p256dh, auth) VALUES (?, ?, ?, ?)",
        [phone, subscription.endpoint, subscription.p256dh, subscription.auth.exposedValue])
    case .app(let token):
      try db.run(
        "INSERT INTO app_token (phone, service, token, told_at) VALUES (?, ?, ?, ?)",
        [phone, token.service.rawValue, token.token.exposedValue, now.milliseconds])
    case nil: return
    }
  }

  /// Unless the phone has told of another way since.
  static func forget(_ bell: PhoneBell, in db: Database) throws {
    switch bell.way {
    case .browser(let subscription, _):
      try db.run(
        "DELETE FROM push_subscription WHERE phone = ? AND endpoint = ?", [bell.phone, subscription.received.endpoint])
    case .app(let token, _):
      try db.run(
        "DELETE FROM app_token WHERE phone = ? AND token = ? AND told_at = ?",
        [bell.phone, token.token.exposedValue, token.toldAt.milliseconds])
    }
  }
}
