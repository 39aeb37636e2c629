import PostgreSQLLink

/// A PostgreSQL database at one end of a move.
struct PostgreSQLMoveEnd: MoveSource, MoveDestination {
  /// The tables that a data folder's database does not have.
  static let ownTables: Set = [
    "write_turn", "committed_write", "schema_migration", "database_move", "failure_count", "poll_pace", "history_place",
    "housekeeper",
  ]
  /// The longest time of one statement. It is longer than copying a table takes, and requests do not wait for it.
  private static let patience = Duration.seconds(600)

  let storage: PostgreSQLStorage
  /// The database's address, which has no password.
  let place: String
  let tables: [PostgreSQLTable]

  func mark() throws -> MoveMark? { try storage.pool.lend { try MoveMark.stored(in: $0) } }
  func identity() throws -> MoveIdentity {
    try storage.pool.lend { try PostgreSQLMoveTransaction($0, tables).identity() }
  }
  func form() throws -> TableForm { try storage.pool.lend { try TableForm(of: $0) } }

  func view(_ work: (any MoveRows) throws -> Void) throws {
    let connection = try connected()
    _ = try connection.ask([PostgreSQLCall("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")])
    try work(PostgreSQLMoveTransaction(connection, tables))
  }

  func hold(_ work: (any HeldSource) throws -> Void) throws {
    let connection = try connected()
    _ = try connection.ask([
      // Writers are blocked meanwhile.
      PostgreSQLCall("SET idle_in_transaction_session_timeout = '60s'"),
      PostgreSQLCall("BEGIN"),
      // The writers before it, and then nobody: neither a writer nor whoever uses a nonce.
      PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE"),
    ])
    try connection.lock(tables)
    try work(PostgreSQLMoveTransaction(connection, tables, clock: storage.clock))
    try connection.commit()
  }

  func fill(_ work: (any FillingDestination) throws -> Void) throws {
    let connection = try connected()
    let taken = try connection.ask([
      PostgreSQLCall("BEGIN"),
      PostgreSQLCall(
        "SELECT pg_try_advisory_xact_lock(hashtextextended('iampass_move_' || current_schema(), 0))::int::int8"),
    ])
    guard try taken[1].first?.integer(0) == 1 else { throw MoveRefusal(.busy, place) }
    // A service that runs on the new place writes before it is looked at, or not at all.
    _ = try connection.ask([PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE")])
    try work(PostgreSQLMoveTransaction(connection, tables))
  }

  func open() throws {
    let connection = try connected()
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.removeTrigger(PostgreSQLMoveTransaction.closed, from: PostgreSQLMoveTransaction.closable(tables))
    _ = try connection.ask([PostgreSQLCall("UPDATE database_move SET state = 'arrived'")])
    try connection.commit()
  }

  func hasArrived(_ id: String) throws -> Bool {
    try storage.pool.lend {
      try !$0.ask([PostgreSQLCall("SELECT id FROM database_move WHERE id = $1", .text(id))])[0].isEmpty
    }
  }

  /// A connection that may take its time. If it ends in a transaction, the database rolls back.
  private func connected() throws -> PostgreSQLConnection {
    let connection = try storage.pool.connected()
    connection.patience = Self.patience
    _ = try connection.run([
      PostgreSQLCall("SET statement_timeout = '600s'"), PostgreSQLCall("SET lock_timeout = '10s'"),
      PostgreSQLCall("SET idle_in_transaction_session_timeout = '600s'"),
      PostgreSQLCall("SET synchronous_commit = on"),
    ])
    return connection
  }
}

/// The work of a move in one transaction of a PostgreSQL database.
struct PostgreSQLMoveTransaction: HeldSource, FillingDestination {
  /// The name of the triggers that refuse changes. It comes before the others': triggers run in the order of their names.
  static let closed = "a_database_moved"

  private let connection: PostgreSQLConnection
  private let tables: [PostgreSQLTable]
  private let clock: StorageClock?

  init(_ connection: PostgreSQLConnection, _ tables: [PostgreSQLTable], clock: StorageClock? = nil) {
    self.connection = connection
    self.tables = tables
    self.clock = clock
  }

  /// The tables that a service writes to.
  static func closable(_ tables: [PostgreSQLTable]) -> [String] { tables.map(\.name) + ["committed_write"] }

  func mark() throws -> MoveMark? { try MoveMark.stored(in: connection) }

  func identity() throws -> MoveIdentity {
    let answers = try connection.ask([
      PostgreSQLCall("SELECT private_key FROM push_key"), PostgreSQLCall("SELECT epoch FROM service_mark"),
      PostgreSQLCall("SELECT id FROM application"),
    ])
    return MoveIdentity(
      pushKey: try answers[0].first?.text(0) ?? "", epoch: try answers[1].first?.integer(0) ?? 0,
      applications: Set(try answers[2].map { try $0.text(0) ?? "" }))
  }

  func form() throws -> TableForm { try TableForm(of: connection) }

  func isNew() throws -> Bool {
    try tables.allSatisfy { try $0.isMadeWithTheDatabase || connection.count($0) == 0 }
  }

  func keepTime() throws {
    guard let clock else { return }
    let work = PostgreSQLTransaction(connection)
    try clock.anchor.store(in: work)
    // A statement without an answer is sent with the next question.
    _ = try work.first("SELECT time FROM service_clock")
  }

  func note(_ actor: AuditActor) throws {
    guard let clock else { return }
    let work = PostgreSQLTransaction(connection)
    try AuditEntry.noteMove(by: actor, at: clock.now(), in: work)
    _ = try work.first("SELECT time FROM service_clock")
  }

  func each(of table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try connection.copyOut(table, body)
  }

  /// Deletes all rows. The tables' triggers are removed, because they must not audit copied rows again. ``close(_:)``
  /// restores them.
  func empty(_ tables: [PostgreSQLTable]) throws {
    try connection.removeTrigger(Self.closed, from: Self.closable(tables))
    _ = try connection.ask([PostgreSQLCall("DELETE FROM database_move")])
    try connection.setTriggers(of: tables, on: false)
    try connection.empty(tables)
  }

  func add(to table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    try connection.copyIn(table, body)
  }

  func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws {
    try connection.delete(keys, from: table)
  }

  func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws { try connection.update(rows, in: table) }

  func rows(_ keys: [PostgreSQLTuple], of table: PostgreSQLTable) throws -> [PostgreSQLTuple] {
    try connection.rows(keys, of: table)
  }

  func count(_ table: PostgreSQLTable) throws -> Int64 { try connection.count(table) }

  func analyze() throws { try connection.analyze(tables) }

  func close(_ mark: MoveMark) throws {
    try connection.setTriggers(of: tables, on: true)
    // Its trigger refuses servers that cannot use what was moved: see ``PostgreSQLMigration/sealedClients``.
    _ = try connection.ask([PostgreSQLCall("UPDATE push_key SET client_seal = client_seal")])
    try connection.countOn(in: tables)
    try connection.addTrigger(Self.closed, calling: "database_moved", to: Self.closable(tables))
    _ = try connection.ask([
      PostgreSQLCall(
        "INSERT INTO database_move (id, state, place) VALUES ($1, $2, $3)", .text(mark.id), .text(mark.state.rawValue),
        .text(mark.place))
    ])
  }

  func commit() throws { try connection.commit() }
}
