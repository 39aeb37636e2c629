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

  /// How the user's live phone is rung; nil where it cannot be.
  static func bell(of user: Int64, in db: Database) throws -> PhoneBell? {
    guard let phone = try Phone.live(of: user, in: db),
      let row = try Row.fetchOne(db, sql: "SELECT * FROM push_subscription WHERE phone = ?", arguments: [phone.id]),
      let subscription = PushSubscription(
        try UnverifiedPushSubscription(
          endpoint: row.get("endpoint"), p256dh: row.get("p256dh"), auth: Secret(row.get("auth"))))
    else { return nil }
    return PhoneBell(phone: phone.id, subscription: subscription, token: try token(in: db))
  }

  static func rings(_ phone: String, in db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT 1 FROM push_subscription WHERE phone = ?", arguments: [phone]) ?? false
  }

  static func keep(_ subscription: UnverifiedPushSubscription?, of phone: String, in db: Database) throws {
    try db.execute(sql: "DELETE FROM push_subscription WHERE phone = ?", arguments: [phone])
    guard let subscription else { return }
    try db.execute(
      sql: "INSERT INTO push_subscription (phone, endpoint, p256dh, auth) VALUES (?, ?, ?, ?)",
      arguments: [phone, subscription.endpoint, subscription.p256dh, subscription.auth.exposedValue])
  }

  /// Unless the phone has told of another one since.
  static func forget(phone: String, ifStill subscription: UnverifiedPushSubscription, in db: Database) throws {
    try db.execute(
      sql: "DELETE FROM push_subscription WHERE phone = ? AND endpoint = ?",
      arguments: [phone, subscription.endpoint])
  }
}
