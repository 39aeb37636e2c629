import DeviceProtocol
import IAMPASSProtocol

extension VerifiedCredential {
  private init(row: some StorageRow) throws {
    let id: String = try row.get("credential")
    // An older server replaces the credential, and leaves what was told of the former one.
    let isTold = try (row.get("backup_of") as String?) == id
    let isBackupEligible = try (row.get("backup_eligible") as Int64?).map { $0 != 0 }
    try self.init(
      id: id, publicKey: row.get("public_key"), counter: row.get("counter"),
      isBackupEligible: isTold ? isBackupEligible : nil)
  }

  /// The phone's credential; nil if it has none.
  static func of(phone: String, in db: some StorageTransaction) throws -> VerifiedCredential? {
    try db.first("SELECT * FROM phone_credential WHERE phone = $1", phone).map(VerifiedCredential.init(row:))
  }

  /// Stores it as the phone's credential, in place of an earlier one.
  func insert(phone: String, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO phone_credential (phone, credential, public_key, counter, added_at, backup_of, backup_eligible)
      VALUES ($1, $2, $3, $4, $5, $2, $6)
      ON CONFLICT (phone) DO UPDATE SET credential = excluded.credential, public_key = excluded.public_key,
        counter = excluded.counter, added_at = excluded.added_at, backup_of = excluded.backup_of,
        backup_eligible = excluded.backup_eligible
      """, phone, id, publicKey, counter, now.milliseconds, isBackupEligible)
  }

  /// Stores what the authenticator last said of itself.
  static func advance(phone: String, to state: AuthenticatorState, in db: some StorageTransaction) throws {
    try db.execute(
      "UPDATE phone_credential SET counter = $1, backup_of = credential, backup_eligible = $2 WHERE phone = $3",
      state.counter, state.isBackupEligible, phone)
  }
}

extension KeptAnswer {
  /// Stores the answer under the session's id, which stays valid after the session is deleted.
  func insert(at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO answer (session, phone, public_key, statement, signature, context, assertion, credential_key,
        answered_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      """, session, phone.id, phone.publicKey, statement, signature, context,
      assertion.map { String(decoding: $0.proof.json.encoded(), as: UTF8.self) }, assertion?.publicKey,
      now.milliseconds)
  }

  /// The phone's answer to a session as sent, which a computer can verify by itself.
  static func approval(of session: String, in db: some StorageTransaction) throws -> JSON {
    let sql: StaticString = "SELECT phone, statement, signature, assertion FROM answer WHERE session = $1"
    guard let row = try db.first(sql, session) else { throw DamagedRow(column: "answer") }
    func parsed(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }
    return try .object([
      "phone": .string(row.get("phone")), "statement": parsed(row.get("statement")),
      "signature": .string(row.get("signature")), "assertion": (row.get("assertion") as String?).map(parsed),
    ])
  }

  /// - Returns: the number of deleted answers.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM answer WHERE session IN (SELECT session FROM answer WHERE answered_at < $1 ORDER BY answered_at LIMIT $2)
      RETURNING answered_at
      """, now.advanced(seconds: -lifetime).milliseconds, Forgettable.portion
    ).count
  }
}
