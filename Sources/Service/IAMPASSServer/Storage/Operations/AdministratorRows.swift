import IAMPASSProtocol

extension Administrator {
  fileprivate static let query: StaticString = """
    SELECT administrator.name, administrator.role, app_user.id AS user_id, phone.display_name AS phone FROM administrator
    LEFT JOIN app_user ON app_user.name = administrator.name
      AND app_user.application = (SELECT value FROM service_fact WHERE name = 'administrators')
    LEFT JOIN phone ON phone.id = (SELECT one.id FROM phone AS one WHERE one.user_id = app_user.id
      AND one.cut_off_at IS NULL ORDER BY one.registered_at, one.number LIMIT 1)
    ORDER BY administrator.name
    """

  fileprivate init(row: some StorageRow) throws {
    let word: String = try row.get("role")
    try self.init(
      name: row.get("name"), role: AdministratorRule.role(word), user: row.get("user_id"), phone: row.get("phone"))
  }

  static func role(of name: String, in db: some StorageTransaction) throws -> AdministratorRole? {
    try db.text("SELECT role FROM administrator WHERE name = $1", name).map(AdministratorRule.role)
  }

  fileprivate static func admins(in db: some StorageTransaction) throws -> [String] {
    try db.all("SELECT name FROM administrator WHERE role = 'admin'").map { try $0.get("name") }
  }

  static func application(in db: some StorageTransaction) throws -> String? {
    try db.text("SELECT value FROM service_fact WHERE name = $1", AdministratorRule.fact)
  }

  /// Makes the administrators' application if it is missing. An existing application of this name gets another secret,
  /// because only the service may manage its users.
  fileprivate static func ownApplication(
    at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws -> String {
    if let known = try application(in: db), try Application.find(known, in: db) != nil { return known }
    let new = try Application(new: AdministratorRule.application)
    let former = try Application.find(nameOrID: AdministratorRule.application, in: db)
    if let former {
      _ = try former.renew(new.secret, at: now, in: db, seals)
    } else {
      try new.insert(.on, at: now, in: db, seals)
    }
    let id = former?.id ?? new.id
    try db.execute(
      """
      INSERT INTO service_fact (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
      """, AdministratorRule.fact, id)
    return id
  }
}

extension StorageEngine {
  public func administrators() async throws -> [Administrator] {
    try await read { db in
      try db.all(Administrator.query).map(Administrator.init(row:))
    }
  }

  public func administratorsApplication() async throws -> String? { try await read(Administrator.application) }

  public func addAdministrator(
    _ name: String, role: AdministratorRole, at now: UnixTime
  ) async throws -> AdministratorChange {
    guard AdministratorRule.isFit(name) else { return .nameNotFit }
    return try await write { [seals] db in
      guard try Administrator.role(of: name, in: db) == nil else { return .nameTaken }
      _ = try User.add([name], application: try Administrator.ownApplication(at: now, in: db, seals), in: db)
      try db.execute(
        "INSERT INTO administrator (name, role, changed_at) VALUES ($1, $2, $3)", name, role.rawValue, now.milliseconds)
      return .done
    }
  }

  public func setAdministrator(
    _ name: String, role: AdministratorRole, keepsOne: Bool, at now: UnixTime
  ) async throws -> AdministratorChange {
    try await write { db in
      guard try Administrator.role(of: name, in: db) != nil else { return .unknown }
      if keepsOne, role != .admin,
        AdministratorRule.leavesNobody(without: name, of: try Administrator.admins(in: db))
      {
        return .lastAdmin
      }
      try db.execute(
        "UPDATE administrator SET role = $1, changed_at = $2 WHERE name = $3", role.rawValue, now.milliseconds, name)
      return .done
    }
  }

  public func removeAdministrator(
    _ name: String, keepsOne: Bool, at now: UnixTime
  ) async throws -> AdministratorChange {
    try await write { db in
      guard try Administrator.role(of: name, in: db) != nil else { return .unknown }
      if keepsOne, AdministratorRule.leavesNobody(without: name, of: try Administrator.admins(in: db)) {
        return .lastAdmin
      }
      if let own = try Administrator.application(in: db) {
        _ = try User.delete([name], of: own, at: now, in: db)
      }
      // The user may have been deleted before.
      try db.execute("DELETE FROM administrator WHERE name = $1", name)
      return .done
    }
  }

  public func invitation(
    ofAdministrator name: String, isLost: Bool, at now: UnixTime
  ) async throws -> AdministratorInvitation {
    guard let one = try await administrators().first(where: { $0.name == name }), one.user != nil,
      let own = try await administratorsApplication()
    else { return .unknown }
    guard isLost || one.phone == nil else { return .hasPhone }
    let order = LinkOrder(
      code: Secret(try RandomValue.identifier()), user: name, application: own, displayName: name,
      loss: isLost ? .endsSessions(but: []) : nil)
    return try await makeLink(order, at: now) == nil ? .unknown : .code(order.code)
  }
}

extension ConsoleSubject {
  func state(in db: some StorageTransaction) throws -> String {
    switch self {
    case .application(let id):
      // As it is stored: a new one is another state.
      let secret = try db.text("SELECT secret FROM application WHERE id = $1", id)
      let services = try db.all(
        "SELECT told, set_at FROM notification_service WHERE application = $1 ORDER BY service", id)
      let notifications = try services.map { row -> String in
        let (text, at): (String, Int64) = (try row.get("told"), try row.get("set_at"))
        return "\(text) \(at)"
      }
      return SeenState.mark(
        [secret] + (try ApplicationSettings.of(id, in: db).stateWords) + notifications)
    case .credential(let id):
      let credential = try HostCredential.find(id, in: db)
      return SeenState.mark([credential?.name, credential.map { "\($0.isRevoked)" }])
    case .phone(let user): return SeenState.mark(try Phone.liveIDs(of: user, in: db))
    case .administrator(let name):
      let role = try Administrator.role(of: name, in: db)?.rawValue
      let user = try Administrator.application(in: db).flatMap { try User.find(name, application: $0, in: db) }
      let phones = try user.map { try Phone.liveIDs(of: $0.id, in: db) } ?? []
      return SeenState.mark([role] + phones)
    }
  }
}
