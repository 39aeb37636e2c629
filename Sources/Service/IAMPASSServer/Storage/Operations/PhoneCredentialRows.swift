import DeviceProtocol
import GRDB
import IAMPASSProtocol

extension VerifiedCredential {
  private init(row: Row) throws {
    try self.init(id: row.get("credential"), publicKey: row.get("public_key"), counter: row.get("counter"))
  }

  /// The phone's, where it has one.
  static func of(phone: String, in db: Database) throws -> VerifiedCredential? {
    try db.firstRow("SELECT * FROM phone_credential WHERE phone = ?", [phone]).map(VerifiedCredential.init(row:))
  }

  /// Stores it as the phone's; another takes its place.
  func insert(phone: String, at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO phone_credential (phone, credential, public_key, counter, added_at)
        VALUES (?, ?, ?, ?, ?)
        """,
      arguments: [phone, id, publicKey, counter, now.milliseconds])
  }

  /// The authenticator has signed up to here.
  static func advance(phone: String, to counter: UInt32, in db: Database) throws {
    try db.execute(
      sql: "UPDATE phone_credential SET counter = ? WHERE phone = ?", arguments: [counter, phone])
  }
}

extension Phone {
  /// What it can be asked for, the weakest first.
  static func methods(of id: String, in db: Database) throws -> [AuthenticationMethod] {
    let face: [AuthenticationMethod] = try mayVouchForFace(id, in: db) && offersFace(id, in: db) ? [.facial] : []
    return try [.acceptance] + face + (VerifiedCredential.of(phone: id, in: db) == nil ? [] : [.device])
  }
}

extension KeptAnswer {
  /// Keyed by the session's id, which outlives the session.
  func insert(at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO answer (session, phone, public_key, statement, signature, context, assertion, credential_key,
          answered_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        session, phone.id, phone.publicKey, statement, signature, context,
        assertion.map { String(decoding: $0.proof.json.encoded(), as: UTF8.self) }, assertion?.publicKey,
        now.milliseconds,
      ])
  }

  /// What a computer can check by itself of the answer to a session, as the phone sent it.
  static func approval(of session: String, in db: Database) throws -> JSON {
    let sql = "SELECT phone, statement, signature, assertion FROM answer WHERE session = ?"
    guard let row = try db.firstRow(sql, [session]) else { throw DamagedRow(column: "answer") }
    func parsed(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }
    return try .object([
      "phone": .string(row.get("phone")), "statement": parsed(row.get("statement")),
      "signature": .string(row.get("signature")), "assertion": (row.get("assertion") as String?).map(parsed),
    ])
  }

  static func prune(at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: "DELETE FROM answer WHERE answered_at < ?", arguments: [now.advanced(seconds: -lifetime).milliseconds])
  }
}
