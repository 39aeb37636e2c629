import DeviceProtocol
import IAMPASSProtocol
import PostgreSQLLink

extension PushBook {
  static func token(in db: PostgreSQLWork) throws -> PushToken {
    let stored = try db.text("SELECT private_key FROM push_key") ?? ""
    return PushToken(key: try DeviceKey(exported: Secret(stored)))
  }

  /// How the user's live phone is rung; nil where it cannot be.
  static func bell(of user: Int64, in db: PostgreSQLWork) throws -> PhoneBell? {
    guard let phone = try Phone.live(of: user, in: db),
      let row = try db.first("SELECT * FROM push_subscription WHERE phone = $1", phone.id),
      let subscription = PushSubscription(
        try UnverifiedPushSubscription(
          endpoint: row.get("endpoint"), p256dh: row.get("p256dh"), auth: Secret(row.get("auth"))))
    else { return nil }
    return PhoneBell(phone: phone.id, subscription: subscription, token: try token(in: db))
  }

  static func rings(_ phone: String, in db: PostgreSQLWork) throws -> Bool {
    try db.has("SELECT 1 FROM push_subscription WHERE phone = $1", phone)
  }

  static func keep(_ subscription: UnverifiedPushSubscription?, of phone: String, in db: PostgreSQLWork) throws {
    try db.execute("DELETE FROM push_subscription WHERE phone = $1", phone)
    guard let subscription else { return }
    try db.execute(
      "INSERT INTO push_subscription (phone, endpoint, p256dh, auth) VALUES ($1, $2, $3, $4)", phone,
      subscription.endpoint, subscription.p256dh, subscription.auth.exposedValue)
  }

  /// Unless the phone has told of another one since.
  static func forget(phone: String, ifStill subscription: UnverifiedPushSubscription, in db: PostgreSQLWork) throws {
    try db.execute("DELETE FROM push_subscription WHERE phone = $1 AND endpoint = $2", phone, subscription.endpoint)
  }
}
