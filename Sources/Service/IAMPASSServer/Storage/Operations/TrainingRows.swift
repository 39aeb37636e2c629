import GRDB
import IAMPASSProtocol

extension Training {
  /// Notes that a computer asked for these. The first time of each counts.
  func note(at now: UnixTime, in db: Database) throws {
    for method in methods {
      try db.run(
        "INSERT INTO training (phone, method, asked_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [phone, method.rawValue, now.milliseconds])
    }
  }

  /// What the phone still lacks of what was asked for, the weakest first.
  static func required(of phone: String, in db: Database) throws -> [AuthenticationMethod] {
    let asked = try db.allRows("SELECT method FROM training WHERE phone = ?", [phone]).map { row in
      try row.get("method") as String
    }
    return left(
      asked, having: try Phone.methods(of: phone, in: db),
      addable: addable(mayVouchForFace: try Phone.mayVouchForFace(phone, in: db)))
  }
}
