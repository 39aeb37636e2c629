import IAMPASSProtocol

extension AnswerProof {
  init(row: some StorageRow, _ clock: StorageClock) throws {
    session = try row.get("session")
    phone = try row.get("phone")
    publicKey = try row.get("public_key")
    statement = try row.get("statement")
    signature = try row.get("signature")
    context = try row.get("context")
    let key: String? = try row.get("credential_key")
    assertion = try (row.get("assertion") as String?).map { ($0, key ?? "") }
    let at = try clock.unixTime(of: UnixTime(milliseconds: row.get("answered_at")))
    let names = ["session", "phone", "public_key", "statement", "signature", "context", "assertion", "credential_key"]
    members =
      try [JSON.Member("at", .string(at.text))]
      + names.compactMap { name in try (row.get(name) as String?).map { JSON.Member(name, .string($0)) } }
  }
}

extension StorageEngine {
  public func auditProof(ofEntry id: Int64) async throws -> AuditProof? {
    try await read { [clock] db in
      let row = try db.first(
        """
        SELECT audit.*, coalesce(listed_user.name, app_user.told_name) AS user_name FROM audit
        LEFT JOIN app_user ON app_user.id = audit.user_id
        LEFT JOIN listed_user ON listed_user.user_id = app_user.id WHERE audit.id = $1
        """, id)
      guard let entry = try row.map(AuditEntry.init(naming:)) else { return nil }
      // What an administrator did in the console goes back to the sign-in to the console, whatever it was about.
      let session = try entry["approval"] ?? entry["session"] ?? Self.session(ofDocumentIn: id, in: db)
      let answer = try session.flatMap { try db.first("SELECT * FROM answer WHERE session = $1", $0) }
      return AuditProof(entry: entry, answer: try answer.map { try AnswerProof(row: $0, clock) })
    }
  }

  /// The request by which a phone signed the list of users, or the set of administrators, that the entry is about; nil
  /// for another entry, and for a recovery key.
  private static func session(ofDocumentIn entry: Int64, in db: Transaction) throws -> String? {
    let proof = try db.text(
      """
      SELECT signed_list.proof FROM audit JOIN application ON application.name = audit.application
      JOIN signed_list ON signed_list.application = application.id
      WHERE audit.id = $1 AND audit.event = 'user list signed' AND signed_list.signed_at IN (audit.at, audit.noted_at)
      UNION ALL
      SELECT administrator_set.proof FROM audit
      JOIN administrator_set ON administrator_set.made_at IN (audit.at, audit.noted_at)
      WHERE audit.id = $1 AND audit.event = 'administrators signed'
      """, entry)
    return try proof.flatMap { try JSON(parsing: Array($0.utf8))["statement"]?["session"]?.string }
  }
}
