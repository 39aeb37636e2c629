import IAMPASSProtocol

extension MissingMethods {
  /// Notes that a computer requires these methods. The first time of each is kept.
  func note(at now: UnixTime, in db: some StorageTransaction) throws {
    for method in methods {
      try db.execute(
        "INSERT INTO training (phone, method, asked_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", phone,
        method.rawValue, now.milliseconds)
    }
  }

  /// The required methods that the phone still lacks, weakest first.
  static func required(of phone: String, in db: some StorageTransaction) throws -> [AuthenticationMethod] {
    let asked: [String] = try db.all("SELECT method FROM training WHERE phone = $1", phone).map { try $0.get("method") }
    let means = try PhoneMeans.find(phone, in: db)
    return left(
      asked, having: means?.methods ?? [], addable: addable(mayVouchForFace: means?.mayVouchForFace ?? false))
  }
}
