import IAMPASSProtocol

/// How far the secrets of sign-in clients are sealed: of applications, computers, computers that wait to join, and their
/// sessions; and those with which phones are rung. There may be many, so that they are rewritten in portions. NULL in place
/// of a word: they are in clear.
enum ClientSeal: String, Sendable {
  /// New ones are sealed. Older ones may be in clear.
  case sealing
  /// All are sealed.
  case sealed
  /// New ones are in clear. Older ones may be sealed.
  case unsealing
}

/// By which key a database's secrets are sealed: by the one that has sealed its push key, which every database has.
/// Every writer goes by it, so that no secret is written in clear beside sealed ones.
struct SealMark: Sendable, Equatable {
  /// Nil: nothing is sealed.
  let keyID: String?
  /// Nil: no client's secret is sealed, as in a database that was sealed by an earlier version.
  var clients: ClientSeal?

  private static func row<Transaction: StorageTransaction>(in db: Transaction) throws -> Transaction.Row? {
    try db.first("SELECT private_key, client_seal FROM push_key")
  }

  static func storedPushKey(in db: some StorageTransaction) throws -> String? {
    try row(in: db).map { try $0.get("private_key") as String }
  }

  /// - Throws: ``SealFault`` if the push key is sealed in an unknown way.
  static func stored(in db: some StorageTransaction) throws -> SealMark {
    guard let row = try Self.row(in: db) else { return SealMark(keyID: nil) }
    let clients = try (row.get("client_seal") as String?).map { word in
      guard let clients = ClientSeal(rawValue: word) else { throw DamagedRow(column: "client_seal") }
      return clients
    }
    let stored: String = try row.get("private_key")
    guard SealedText.isSealed(stored) else { return SealMark(keyID: nil, clients: clients) }
    guard let sealed = SealedText(stored) else { throw SealFault(.changed, SealedPlace.pushKey.told) }
    return SealMark(keyID: sealed.keyID, clients: clients)
  }

  static func store(_ clients: ClientSeal?, in db: some StorageTransaction) throws {
    try db.execute("UPDATE push_key SET client_seal = $1", clients?.rawValue)
  }

  /// Whether a secret in clear does not belong there.
  func refusesClear(at place: SealedPlace) -> Bool { place.isOfClient ? clients == .sealed : keyID != nil }

  /// The key that seals what is written there; nil if it is written in clear.
  func keyID(for place: SealedPlace) -> String? {
    place.isOfClient && clients != .sealing && clients != .sealed ? nil : keyID
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
      try accept(clearAt: place, in: db)
      return Secret(stored)
    }
    guard let sealed = SealedText(stored) else { throw SealFault(.changed, place.told) }
    guard let keys else { throw SealFault(.noKey, sealed.keyID) }
    return try keys.open(sealed, at: place)
  }

  private func accept(clearAt place: SealedPlace, in db: some StorageTransaction) throws {
    // Each request of a computer comes by here: most databases have nothing sealed, and ask nothing for it.
    if place.isOfClient, keys == nil { return }
    let mark = try place == .pushKey ? SealMark(keyID: nil) : SealMark.stored(in: db)
    guard !mark.refusesClear(at: place) else { throw SealFault(.clear, place.told) }
    if let problem = problem(mark) { throw problem }
  }

  /// The secret as it is to be stored.
  func close(_ secret: Secret, at place: SealedPlace, in db: some StorageTransaction) throws -> String {
    try close(secret, at: place, under: SealMark.stored(in: db))
  }

  /// - Parameter mark: the database's, from the transaction that stores the secret.
  func close(_ secret: Secret, at place: SealedPlace, under mark: SealMark) throws -> String {
    let id = mark.keyID(for: place)
    // What is written in clear beside sealed keys of the service needs none of them.
    if id != nil || mark.keyID == nil, let problem = problem(mark) { throw problem }
    guard let id, let keys else { return secret.exposedValue }
    return try keys.seal(secret, at: place, by: id)
  }
}

extension StoredSecret {
  func opened(at place: SealedPlace, in db: some StorageTransaction, _ seals: Seals) throws -> StoredSecret {
    .clear(try seals.open(text, at: place, in: db))
  }
}

extension StorageEngine {
  var seals: Seals { Seals(keys: sealKeys) }
}

/// A stored secret that can be sealed.
struct SealableRow: Sendable {
  let place: SealedPlace
  let stored: String

  /// The row's id, in a table of sign-in clients or phones.
  var id: String? { place.isOfClient ? place.words.last : nil }

  /// The service's own keys, all of a database.
  static func own(in db: some StorageTransaction) throws -> [SealableRow] {
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
    case .application(let id): try db.execute("UPDATE application SET secret = $1 WHERE id = $2", stored, id)
    case .computer(let id): try db.execute("UPDATE host_credential SET secret = $1 WHERE id = $2", stored, id)
    case .joining(let id): try db.execute("UPDATE joining SET secret = $1 WHERE id = $2", stored, id)
    case .session(let id): try db.execute("UPDATE session SET secret = $1 WHERE id = $2", stored, id)
    case .reply(let id): try db.execute("UPDATE session SET reply_secret = $1 WHERE id = $2", stored, id)
    case .endpoint(let phone):
      try db.execute("UPDATE push_subscription SET endpoint = $1 WHERE phone = $2", stored, phone)
    case .endpointSecret(let phone):
      try db.execute("UPDATE push_subscription SET auth = $1 WHERE phone = $2", stored, phone)
    case .appToken(let phone): try db.execute("UPDATE app_token SET token = $1 WHERE phone = $2", stored, phone)
    }
  }
}

/// A table with secrets of sign-in clients or phones, which is read in portions: it may have many rows.
enum SealableTable: CaseIterable, Sendable {
  case applications, computers, joinings, sessions, browsers, apps

  /// The most rows of one transaction: writers wait for it.
  static let portion: Int64 = 200

  /// A portion of its secrets, in the order of ids.
  ///
  /// - Parameter id: the last one of the portion before; empty: the first portion.
  func rows(after id: String, in db: some StorageTransaction) throws -> [SealableRow] {
    switch self {
    case .applications:
      try db.all("SELECT id, secret FROM application WHERE id > $1 ORDER BY id LIMIT $2", id, Self.portion).map {
        try SealableRow(place: .application($0.get("id")), stored: $0.get("secret"))
      }
    case .computers:
      try db.all("SELECT id, secret FROM host_credential WHERE id > $1 ORDER BY id LIMIT $2", id, Self.portion).map {
        try SealableRow(place: .computer($0.get("id")), stored: $0.get("secret"))
      }
    case .joinings:
      try db.all(
        "SELECT id, secret FROM joining WHERE secret IS NOT NULL AND id > $1 ORDER BY id LIMIT $2", id, Self.portion
      ).map { try SealableRow(place: .joining($0.get("id")), stored: $0.get("secret")) }
    case .sessions:
      try db.all(
        "SELECT id, secret, reply_secret FROM session WHERE id > $1 ORDER BY id LIMIT $2", id, Self.portion
      ).flatMap { row in
        let id: String = try row.get("id")
        return [
          SealableRow(place: .session(id), stored: try row.get("secret")),
          SealableRow(place: .reply(id), stored: try row.get("reply_secret")),
        ]
      }
    case .browsers:
      try db.all(
        "SELECT phone, endpoint, auth FROM push_subscription WHERE phone > $1 ORDER BY phone LIMIT $2", id,
        Self.portion
      ).flatMap { row in
        let phone: String = try row.get("phone")
        return [
          SealableRow(place: .endpoint(phone), stored: try row.get("endpoint")),
          SealableRow(place: .endpointSecret(phone), stored: try row.get("auth")),
        ]
      }
    case .apps:
      try db.all("SELECT phone, token FROM app_token WHERE phone > $1 ORDER BY phone LIMIT $2", id, Self.portion).map {
        try SealableRow(place: .appToken($0.get("phone")), stored: $0.get("token"))
      }
    }
  }
}
