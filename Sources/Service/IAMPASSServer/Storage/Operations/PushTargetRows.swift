import DeviceProtocol
import IAMPASSProtocol

/// The phones' push subscriptions, and the key with which the service signs for them.
enum PushTargets {
  /// Makes the service's key once. Another key would end every subscription.
  static func makeKey(in db: some StorageTransaction) throws {
    try db.execute("INSERT INTO push_key (id, private_key) VALUES (1, $1)", try newKey().exposedValue)
  }

  static func newKey() throws -> Secret { try DeviceKey.generate().exported() }

  static func token(in db: some StorageTransaction, _ seals: Seals) throws -> PushToken {
    let stored = try SealMark.storedPushKey(in: db) ?? ""
    return PushToken(key: try DeviceKey(exported: seals.open(stored, at: .pushKey, in: db)))
  }

  /// How to ring the user's live phones. Phones that cannot be rung are left out.
  static func pushTargets(of user: Int64, in db: some StorageTransaction, _ seals: Seals) throws -> [PushTarget] {
    let phones = try Phone.readable(of: user, in: db)
    try db.prefetch { db in
      _ = try SealMark.stored(in: db)
      for phone in phones { _ = try target(of: phone, user, in: db, seals) }
    }
    return try phones.compactMap { try target(of: $0, user, in: db, seals) }
  }

  private static func target(of phone: Phone, _ user: Int64, in db: some StorageTransaction, _ seals: Seals) throws
    -> PushTarget?
  {
    if let row = try db.first("SELECT * FROM push_subscription WHERE phone = $1", phone.id) {
      let received = try UnverifiedPushSubscription(
        endpoint: seals.open(row.get("endpoint"), at: .endpoint(phone.id), in: db).exposedValue,
        p256dh: row.get("p256dh"), auth: seals.open(row.get("auth"), at: .endpointSecret(phone.id), in: db))
      guard let subscription = PushSubscription(received) else { return nil }
      return PushTarget(phone: phone.id, way: .browser(subscription, try token(in: db, seals)))
    }
    let found = try db.first(
      """
      SELECT app_token.service, token, told_at, details, secret, notification_service.application FROM app_token
      JOIN app_user ON app_user.id = $1
      JOIN notification_service ON notification_service.application = app_user.application
        AND notification_service.service = app_token.service
      WHERE phone = $2
      """, user, phone.id)
    guard let row = found, let service = try NotificationService(rawValue: row.get("service")) else { return nil }
    let place = SealedPlace.notifications(application: try row.get("application"), service: service.rawValue)
    let secret = try seals.open(row.get("secret"), at: place, in: db)
    guard let settings = try NotificationSettings(service, details: row.get("details"), secret: secret) else {
      return nil
    }
    let token = AppToken(
      service: service, token: try seals.open(row.get("token"), at: .appToken(phone.id), in: db),
      toldAt: UnixTime(milliseconds: try row.get("told_at")))
    return PushTarget(phone: phone.id, way: .app(token, settings))
  }

  static func keep(
    _ way: PushWay?, of phone: String, at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws {
    let mark = try SealMark.stored(in: db)
    try db.execute("DELETE FROM push_subscription WHERE phone = $1", phone)
    try db.execute("DELETE FROM app_token WHERE phone = $1", phone)
    switch way {
    case .browser(let subscription):
      try db.execute(
        "INSERT INTO push_subscription (phone, endpoint, p256dh, auth) VALUES ($1, $2, $3, $4)", phone,
        seals.close(Secret(subscription.endpoint), at: .endpoint(phone), under: mark), subscription.p256dh,
        seals.close(subscription.auth, at: .endpointSecret(phone), under: mark))
    case .app(let token):
      try db.execute(
        "INSERT INTO app_token (phone, service, token, told_at) VALUES ($1, $2, $3, $4)", phone,
        token.service.rawValue, seals.close(token.token, at: .appToken(phone), under: mark), now.milliseconds)
    case nil: return
    }
  }

  /// Removes a way to ring, unless the phone has since sent another.
  static func forget(_ target: PushTarget, in db: some StorageTransaction, _ seals: Seals) throws {
    let phone = target.phone
    switch target.way {
    case .browser(let subscription, _):
      let stored = try db.text("SELECT endpoint FROM push_subscription WHERE phone = $1", phone)
      guard let stored, try seals.open(stored, at: .endpoint(phone), in: db) == subscription.endpoint else { return }
      try db.execute("DELETE FROM push_subscription WHERE phone = $1", phone)
    case .app(let token, _):
      let stored = try db.text(
        "SELECT token FROM app_token WHERE phone = $1 AND told_at = $2", phone, token.toldAt.milliseconds)
      guard let stored, try seals.open(stored, at: .appToken(phone), in: db) == token.token else { return }
      try db.execute("DELETE FROM app_token WHERE phone = $1", phone)
    }
  }
}
