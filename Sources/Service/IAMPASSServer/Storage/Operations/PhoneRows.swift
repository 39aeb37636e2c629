import DeviceProtocol
import GRDB

extension Phone {
  init(row: Row) throws {
    id = try row.get("id")
    user = try row.get("user")
    publicKey = try row.get("public_key")
    displayName = try row.get("display_name")
    name = try row.get("name")
    guard let presence = try Presence(rawValue: row.get("presence")) else { throw DamagedRow(column: "presence") }
    self.presence = presence
    hasPage = try row.get("has_page")
    isCutOff = try (row.get("cut_off_at") as Int64?) != nil
    pinMAC = try row.get("pin_mac")
    registeredAt = try UnixTime(milliseconds: row.get("registered_at"))
  }

  static func find(_ id: String, in db: Database) throws -> Phone? {
    try db.firstRow("SELECT * FROM phone WHERE id = ?", [id]).map(Phone.init(row:))
  }

  /// The user's live phones, the oldest first.
  static func live(of user: Int64, in db: Database) throws -> [Phone] {
    try db.allRows("SELECT * FROM phone WHERE user = ? AND cut_off_at IS NULL ORDER BY registered_at, rowid", [user])
      .map(Phone.init(row:))
  }

  /// Registers a phone.
  static func register(_ phone: NewPhone, named name: String, by link: Link, at now: UnixTime, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO phone (id, user, public_key, display_name, presence, registered_at, pin_mac, name)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        phone.id, link.user, phone.publicKey, link.displayName, Presence.present.rawValue, now.milliseconds,
        phone.pinMAC, name,
      ])
  }

  /// The user's name on their phone: the live phone's, or otherwise that of the latest link or phone.
  static func displayName(of user: Int64, in db: Database) throws -> String? {
    if let phone = try live(of: user, in: db).first { return phone.displayName }
    let link = "SELECT display_name FROM link WHERE user = ? ORDER BY rowid DESC LIMIT 1"
    let phone = "SELECT display_name FROM phone WHERE user = ? ORDER BY rowid DESC LIMIT 1"
    return try String.fetchOne(db, sql: link, arguments: [user])
      ?? String.fetchOne(db, sql: phone, arguments: [user])
  }

  /// From now on the user's phones are refused: all, or the one with this id. Returns the ids of those that were live.
  @discardableResult
  static func cutOff(
    user: Int64, phone id: String? = nil, at now: UnixTime, in db: Database
  ) throws -> [String] {
    let meant = try live(of: user, in: db).map(\.id).filter { id == nil || $0 == id }
    for phone in meant {
      try db.run("UPDATE phone SET cut_off_at = ? WHERE id = ?", [now.milliseconds, phone])
    }
    return meant
  }

  static func markPage(_ id: String, in db: Database) throws {
    try db.execute(sql: "UPDATE phone SET has_page = 1 WHERE id = ?", arguments: [id])
  }

  /// A look that was noted late does not hide a newer one.
  static func noteLook(_ id: String, at now: UnixTime, in db: Database) throws {
    try db.run("UPDATE phone SET looked_at = max(coalesce(looked_at, 0), ?) WHERE id = ?", [now.milliseconds, id])
  }

  static func setPinMAC(_ pinMAC: String?, of id: String, in db: Database) throws {
    try db.run("UPDATE phone SET pin_mac = ? WHERE id = ?", [pinMAC, id])
  }

  static func set(_ presence: Presence, of id: String, in db: Database) throws {
    try db.run("UPDATE phone SET presence = ? WHERE id = ?", [presence.rawValue, id])
  }
}
