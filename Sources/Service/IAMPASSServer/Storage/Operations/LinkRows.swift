import IAMPASSProtocol

extension Link {
  init(row: some StorageRow) throws {
    codeHash = try row.get("code_hash")
    user = try row.get("user_id")
    displayName = try row.get("display_name")
    replacesPhone = try row.get("replaces_phone")
    lostPhone = try row.get("lost_phone")
    expiresAt = try UnixTime(milliseconds: row.get("expires_at"))
    usedAt = try row.time("used_at")
  }

  static func find(code: Secret, in db: some StorageTransaction) throws -> Link? {
    try db.first("SELECT * FROM link WHERE code_hash = $1", hash(of: code))
      .map(Link.init(row:))
  }

  static func create(
    _ order: LinkOrder, user: Int64, displayName: String, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    try db.execute(
      """
      INSERT INTO link (code_hash, user_id, display_name, replaces_phone, expires_at, lost_phone)
      VALUES ($1, $2, $3, $4, $5, $6)
      """, hash(of: order.code), user, displayName, order.loss != nil, now.advanced(seconds: lifetime).milliseconds,
      order.lostPhone)
  }

  /// Revokes the user's unused links, so that a finder of a lost phone cannot use them.
  static func revokeAll(of user: Int64, in db: some StorageTransaction) throws {
    try db.execute("DELETE FROM link WHERE user_id = $1 AND used_at IS NULL", user)
  }

  /// As ``revokeAll(of:in:)``, but only links that replace a phone. A use of the others fails, because there is a
  /// phone.
  static func revokeReplacing(of user: Int64, in db: some StorageTransaction) throws {
    try db.execute("DELETE FROM link WHERE user_id = $1 AND used_at IS NULL AND replaces_phone <> 0", user)
  }

  func markUsed(at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute("UPDATE link SET used_at = $1 WHERE code_hash = $2", now.milliseconds, codeHash)
  }

  /// Deletes links a day after their end. Until then their refusal has a reason.
  /// - Returns: the number of deleted links.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM link WHERE code_hash IN (SELECT code_hash FROM link WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
      RETURNING expires_at
      """, now.advanced(seconds: -86_400).milliseconds, Forgettable.portion
    ).count
  }
}
