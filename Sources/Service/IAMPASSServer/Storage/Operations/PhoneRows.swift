import DeviceProtocol

extension Phone {
  init(row: some StorageRow) throws {
    id = try row.get("id")
    user = try row.get("user_id")
    publicKey = try row.get("public_key")
    displayName = try row.get("display_name")
    name = try row.get("name")
    guard let presence = try Presence(rawValue: row.get("presence")) else { throw DamagedRow(column: "presence") }
    self.presence = presence
    hasPage = try row.get("has_page")
    isCutOff = try (row.get("cut_off_at") as Int64?) != nil
    pinMAC = try row.get("pin_mac")
    registeredAt = try UnixTime(milliseconds: row.get("registered_at"))
    lookedAt = try row.time("looked_at")
  }

  static func find(_ id: String, in db: some StorageTransaction) throws -> Phone? {
    try db.first("SELECT * FROM phone WHERE id = $1", id).map(Phone.init(row:))
  }

  /// Whether the phone is, or was, this user's.
  static func isOf(_ user: Int64, phone id: String, in db: some StorageTransaction) throws -> Bool {
    try db.has("SELECT 1 FROM phone WHERE id = $1 AND user_id = $2", id, user)
  }

  private static let liveOnes: StaticString = """
    SELECT * FROM phone WHERE user_id = $1 AND cut_off_at IS NULL ORDER BY registered_at, number
    """

  /// The user's live phones, oldest first.
  static func live(of user: Int64, in db: some StorageTransaction) throws -> [Phone] {
    try db.all(liveOnes, user).map(Phone.init(row:))
  }

  /// The user's live phones without those that this version cannot read, oldest first. For what the user's other phones
  /// can do without them.
  ///
  /// - Parameter asker: the id of the phone that asks; nil if none does. It must not count as a revoked one.
  /// - Throws: ``DamagedRow`` if the asker's row cannot be read, or none of several: nobody may take that for a user
  ///   without a phone.
  static func readable(
    of user: Int64, for asker: String? = nil, in db: some StorageTransaction
  ) throws -> [Phone] {
    var phones: [Phone] = []
    var damage: (any Error)?
    for row in try db.all(liveOnes, user) {
      do { phones.append(try Phone(row: row)) } catch {
        let id: String = try row.get("id")
        guard id != asker else { throw error }
        damage = error
      }
    }
    if phones.isEmpty, let damage { throw damage }
    return phones
  }

  /// The ids of the user's live phones, oldest first, also of those that this version cannot read: whoever takes a user's
  /// phones away, or notes that one has left, needs no more of them.
  static func liveIDs(of user: Int64, in db: some StorageTransaction) throws -> [String] {
    try db.all(
      "SELECT id FROM phone WHERE user_id = $1 AND cut_off_at IS NULL ORDER BY registered_at, number", user
    ).map { try $0.get("id") }
  }

  /// The names for people of the user's live phones, also of those that this version cannot read.
  static func labels(of user: Int64, in db: some StorageTransaction) throws -> [String] {
    try db.all(liveOnes, user).map { label(try $0.get("name")) }
  }

  /// Registers a phone.
  static func register(
    _ phone: NewPhone, named name: String, by link: Link, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    try db.execute(
      """
      INSERT INTO phone (id, user_id, public_key, display_name, presence, registered_at, pin_mac, name)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      """, phone.id, link.user, phone.publicKey, link.displayName, Presence.present.rawValue, now.milliseconds,
      phone.pinMAC, name)
  }

  /// The user's name on their phone: the live phone's, or the one of the latest link or phone.
  static func displayName(of user: Int64, in db: some StorageTransaction) throws -> String? {
    let live: StaticString = """
      SELECT display_name FROM phone WHERE user_id = $1 AND cut_off_at IS NULL ORDER BY registered_at, number LIMIT 1
      """
    let link: StaticString = "SELECT display_name FROM link WHERE user_id = $1 ORDER BY number DESC LIMIT 1"
    let phone: StaticString = "SELECT display_name FROM phone WHERE user_id = $1 ORDER BY number DESC LIMIT 1"
    return try db.text(live, user) ?? db.text(link, user) ?? db.text(phone, user)
  }

  /// Revokes the user's phones, all or the one with this id. Returns the ids of those that were live.
  @discardableResult
  static func cutOff(
    user: Int64, phone id: String? = nil, at now: UnixTime, in db: some StorageTransaction
  ) throws -> [String] {
    let meant = try liveIDs(of: user, in: db).filter { id == nil || $0 == id }
    for phone in meant {
      try db.execute("UPDATE phone SET cut_off_at = $1 WHERE id = $2", now.milliseconds, phone)
    }
    return meant
  }

  /// Revokes all phones of these users.
  static func cutOff(ofAny users: [Int64], at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      """
      UPDATE phone SET cut_off_at = $1
      WHERE user_id IN (SELECT value::bigint FROM json_array_elements_text($2::json)) AND cut_off_at IS NULL
      """, now.milliseconds, users)
  }

  /// Deletes phones that were cut off long ago. A user's latest phone stays: lists show the user by its name.
  ///
  /// - Returns: the number of deleted phones.
  static func prune(at now: UnixTime, in db: some StorageTransaction) throws -> Int {
    try db.change(
      """
      DELETE FROM phone WHERE id IN (
        SELECT id FROM phone WHERE cut_off_at < $1 AND (user_id IS NULL OR EXISTS (
          SELECT 1 FROM phone AS later WHERE later.user_id = phone.user_id AND later.number > phone.number))
        ORDER BY cut_off_at LIMIT $2)
      RETURNING cut_off_at
      """, now.advanced(seconds: -KeptAnswer.lifetime).milliseconds, Forgettable.portion
    ).count
  }

  static func markPage(_ id: String, in db: some StorageTransaction) throws {
    try db.execute("UPDATE phone SET has_page = 1 WHERE id = $1", id)
  }

  /// Notes a look at the page. A late note does not replace a newer one.
  static func notePageView(_ id: String, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.execute(
      "UPDATE phone SET looked_at = greatest(coalesce(looked_at, 0), $1) WHERE id = $2", now.milliseconds, id)
  }

  static func setPinMAC(_ pinMAC: String?, of id: String, in db: some StorageTransaction) throws {
    try db.execute("UPDATE phone SET pin_mac = $1 WHERE id = $2", pinMAC, id)
  }

  static func set(_ presence: Presence, of id: String, in db: some StorageTransaction) throws {
    try db.execute("UPDATE phone SET presence = $1 WHERE id = $2", presence.rawValue, id)
  }
}
