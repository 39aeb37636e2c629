import IAMPASSProtocol

/// By which key a database's secrets are sealed: by the one that has sealed its push key, which every database has.
/// Every writer goes by it, so that no secret is written in clear beside sealed ones.
struct SealMark: Sendable, Equatable {
  /// Nil: nothing is sealed.
  let keyID: String?

  static func storedPushKey(in db: some StorageTransaction) throws -> String? {
    try db.text("SELECT private_key FROM push_key")
  }

  /// - Throws: ``SealFault`` if the push key is sealed in an unknown way.
  static func stored(in db: some StorageTransaction) throws -> SealMark {
    let stored = try storedPushKey(in: db) ?? ""
    guard SealedText.isSealed(stored) else { return SealMark(keyID: nil) }
    guard let sealed = SealedText(stored) else { throw SealFault(.changed, SealedPlace.pushKey.told) }
    return SealMark(keyID: sealed.keyID)
  }
}

/// Opens and seals secrets of one database, as its mark says.
struct Seals: Sendable {
  let keys: SealKeys?

  /// Why secrets with this mark cannot be used here; nil if they can.
  func problem(_ mark: SealMark) -> SealFault? {
    guard let id = mark.keyID else {
      return keys.flatMap { $0.requiresSeal ? SealFault(.unsealed, place: $0.place) : nil }
    }
    guard let keys else { return SealFault(.noKey, id) }
    return keys.key(id) == nil ? SealFault(.otherKey, id, place: keys.place) : nil
  }

  /// A stored secret. In a sealed database, one in clear is refused.
  ///
  /// Whoever can write to the database could put one that they know in its place. If the push key is in clear, too, the
  /// database counts as unsealed: only keys from a file that says "sealed" then refuse all of it.
  func open(_ stored: String, at place: SealedPlace, in db: some StorageTransaction) throws -> Secret {
    guard SealedText.isSealed(stored) else {
      let mark = try place == .pushKey ? SealMark(keyID: nil) : SealMark.stored(in: db)
      guard mark.keyID == nil else { throw SealFault(.clear, place.told) }
      if let problem = problem(mark) { throw problem }
      return Secret(stored)
    }
    guard let sealed = SealedText(stored) else { throw SealFault(.changed, place.told) }
    guard let keys else { throw SealFault(.noKey, sealed.keyID) }
    return try keys.open(sealed, at: place)
  }

  /// The secret as it is to be stored.
  func close(_ secret: Secret, at place: SealedPlace, in db: some StorageTransaction) throws -> String {
    let mark = try SealMark.stored(in: db)
    if let problem = problem(mark) { throw problem }
    guard let id = mark.keyID, let keys else { return secret.exposedValue }
    return try keys.seal(secret, at: place, by: id)
  }
}

extension StorageEngine {
  var seals: Seals { Seals(keys: sealKeys) }
}

/// A stored secret that can be sealed.
struct SealableRow {
  let place: SealedPlace
  let stored: String

  /// All of a database.
  static func all(in db: some StorageTransaction) throws -> [SealableRow] {
    let push = try SealMark.storedPushKey(in: db).map { SealableRow(place: .pushKey, stored: $0) }
    let signing = try db.all("SELECT id, private_key FROM signing_key ORDER BY id").map { row in
      try SealableRow(place: .signingKey(row.get("id")), stored: row.get("private_key"))
    }
    let notifications = try db.all(
      "SELECT application, service, secret FROM notification_service ORDER BY application, service"
    ).map { row in
      try SealableRow(
        place: .notifications(application: row.get("application"), service: row.get("service")),
        stored: row.get("secret"))
    }
    return (push.map { [$0] } ?? []) + signing + notifications
  }

  func replace(by stored: String, in db: some StorageTransaction) throws {
    switch place {
    case .pushKey: try db.execute("UPDATE push_key SET private_key = $1", stored)
    case .signingKey(let id): try db.execute("UPDATE signing_key SET private_key = $1 WHERE id = $2", stored, id)
    case .notifications(let application, let service):
      try db.execute(
        "UPDATE notification_service SET secret = $1 WHERE application = $2 AND service = $3", stored, application,
        service)
    }
  }
}
