import GRDB
import PostgreSQLLink

/// A data folder at one end of a move.
struct SQLiteMoveEnd: MoveSource, MoveDestination {
  let storage: SQLiteStorage
  let place: String
  let tables: [PostgreSQLTable]

  func mark() throws -> MoveMark? { try storage.pool.read(MoveMark.stored) }
  func identity() throws -> MoveIdentity { try storage.pool.read(Self.identity) }
  func form() throws -> TableForm { try storage.pool.read(TableForm.init(of:)) }

  func view(_ work: (any MoveRows) throws -> Void) throws {
    try storage.pool.read { db in try work(SQLiteMoveTransaction(db, tables)) }
  }

  func hold(_ work: (any HeldSource) throws -> Void) throws {
    try transaction { db in
      try work(SQLiteMoveTransaction(db, tables, clock: storage.clock))
      try db.commit()
    }
  }

  func fill(_ work: (any FillingDestination) throws -> Void) throws {
    try transaction { db in try work(SQLiteMoveTransaction(db, tables)) }
  }

  func open() throws {
    try transaction { db in
      for name in try SQLiteMoveTransaction.closing(in: db) {
        try db.execute(sql: "DROP TRIGGER \(name.quotedDatabaseIdentifier)")
      }
      try db.execute(sql: "UPDATE database_move SET state = 'arrived'")
      try db.commit()
    }
  }

  func hasArrived(_ id: String) throws -> Bool {
    try storage.pool.read {
      try String.fetchOne($0, sql: "SELECT id FROM database_move WHERE id = ?", arguments: [id]) != nil
    }
  }

  /// Rolls back what `work` did not commit.
  private func transaction(_ work: (Database) throws -> Void) throws {
    do {
      try storage.pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = FULL")
        try db.beginTransaction(.immediate)
        defer { if db.isInsideTransaction { try? db.rollback() } }
        try work(db)
      }
    } catch let error as DatabaseError where StorageTrouble(error) == .locked {
      throw MoveRefusal(.busy, place)
    }
  }

  static func identity(in db: Database) throws -> MoveIdentity {
    MoveIdentity(
      pushKey: try String.fetchOne(db, sql: "SELECT private_key FROM push_key") ?? "",
      epoch: try Int64.fetchOne(db, sql: "SELECT epoch FROM service_mark") ?? 0,
      applications: Set(try String.fetchAll(db, sql: "SELECT id FROM application")))
  }
}

/// The work of a move in one transaction of a data folder's database.
struct SQLiteMoveTransaction: HeldSource, FillingDestination {
  /// The beginning of the names of triggers that refuse changes.
  private static let closed = "moved_"

  private let db: Database
  private let tables: [PostgreSQLTable]
  private let clock: StorageClock?
  private let triggers: [String]

  init(_ db: Database, _ tables: [PostgreSQLTable], clock: StorageClock? = nil) throws {
    self.db = db
    self.tables = tables
    self.clock = clock
    triggers = try String.fetchAll(
      db, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE ?",
      arguments: [Self.closed + "%"])
  }

  static func closing(in db: Database) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?", arguments: [closed + "%"])
  }

  func mark() throws -> MoveMark? { try MoveMark.stored(in: db) }
  func identity() throws -> MoveIdentity { try SQLiteMoveEnd.identity(in: db) }
  func form() throws -> TableForm { try TableForm(of: db) }
  func isNew() throws -> Bool { try tables.allSatisfy { try $0.isMadeWithTheDatabase || count($0) == 0 } }
  func keepTime() throws { try clock?.anchor.store(in: db) }
  func note(_ actor: AuditActor) throws {
    if let clock { try AuditEntry.noteMove(by: actor, at: clock.now(), in: db) }
  }

  func each(of table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let statement = try RawStatement("SELECT \(table.sqliteColumns) FROM \(table.sqliteName)", db)
    var tuple = PostgreSQLTuple(columnCount: table.columns.count)
    while try statement.step() {
      tuple.begin(columnCount: table.columns.count)
      statement.append(table.columns.count, to: &tuple)
      try tuple.bytes.withUnsafeBytes(body)
    }
  }

  /// Deletes all rows. The tables' triggers are removed, because they must not audit copied rows again. ``close(_:)``
  /// restores them.
  func empty(_ tables: [PostgreSQLTable]) throws {
    for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
      try db.execute(sql: "DROP TRIGGER \(name.quotedDatabaseIdentifier)")
    }
    try db.execute(sql: "DELETE FROM database_move")
    for table in tables.reversed() { try db.execute(sql: "DELETE FROM \(table.sqliteName)") }
  }

  func add(to table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    let places = table.columns.map { _ in "?" }.joined(separator: ", ")
    let statement = try RawStatement("INSERT INTO \(table.sqliteName) (\(table.sqliteColumns)) VALUES (\(places))", db)
    let all = Array(table.columns.indices)
    try body { tuple in try statement.run(tuple, table, all) }
  }

  func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws {
    let keys = table.columns.indices.prefix(table.keyCount)
    let others = table.columns.indices.dropFirst(table.keyCount)
    let settings = others.map { "\(table.sqliteColumn($0)) = ?" }.joined(separator: ", ")
    let statement = try RawStatement(
      "UPDATE \(table.sqliteName) SET \(settings) WHERE \(table.sqliteKeyCondition)", db)
    for row in rows { try row.bytes.withUnsafeBytes { try statement.run($0, table, Array(others) + keys) } }
  }

  func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws {
    let statement = try RawStatement("DELETE FROM \(table.sqliteName) WHERE \(table.sqliteKeyCondition)", db)
    let all = Array(table.columns.indices.prefix(table.keyCount))
    for key in keys { try key.bytes.withUnsafeBytes { try statement.run($0, table, all) } }
  }

  func rows(_ keys: [PostgreSQLTuple], of table: PostgreSQLTable) throws -> [PostgreSQLTuple] {
    let statement = try RawStatement(
      "SELECT \(table.sqliteColumns) FROM \(table.sqliteName) WHERE \(table.sqliteKeyCondition)", db)
    let all = Array(table.columns.indices.prefix(table.keyCount))
    var rows: [PostgreSQLTuple] = []
    for key in keys {
      try key.bytes.withUnsafeBytes { tuple in
        try statement.bind(tuple, table, all)
        guard try statement.step() else { return }
        var row = PostgreSQLTuple(columnCount: table.columns.count)
        statement.append(table.columns.count, to: &row)
        rows.append(row)
      }
      statement.reset()
    }
    return rows
  }

  func count(_ table: PostgreSQLTable) throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(table.sqliteName)") ?? 0
  }

  func analyze() throws {}

  func close(_ mark: MoveMark) throws {
    let known = Set(try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger'"))
    for trigger in triggers where !known.contains(trigger) { try db.execute(sql: trigger) }
    for table in tables {
      for change in ["INSERT", "UPDATE", "DELETE"] {
        let name = "\(Self.closed)\(change)_\(table.name)".quotedDatabaseIdentifier
        try db.execute(
          sql: """
            CREATE TRIGGER \(name) BEFORE \(change) ON \(table.sqliteName)
            BEGIN SELECT RAISE(ABORT, 'the database was moved'); END
            """)
      }
    }
    try db.execute(
      sql: "INSERT INTO database_move (id, state, place) VALUES (?, ?, ?)",
      arguments: [mark.id, mark.state.rawValue, mark.place])
  }

  func commit() throws { try db.commit() }
}

// SQLite's names for PostgreSQL's tables and columns: `user` is a function of PostgreSQL, and `number` replaces the
// rowid.
extension PostgreSQLTable {
  var sqliteName: String { (name == "app_user" ? "user" : name).quotedDatabaseIdentifier }

  func sqliteColumn(_ place: Int) -> String {
    switch columns[place].name {
    case "user_id": "user".quotedDatabaseIdentifier
    case "number" where columns[place].isCounted: "rowid"
    default: columns[place].name.quotedDatabaseIdentifier
    }
  }

  var sqliteColumns: String { columns.indices.map(sqliteColumn).joined(separator: ", ") }

  var sqliteKeyCondition: String {
    columns.indices.prefix(keyCount).map { "\(sqliteColumn($0)) = ?" }.joined(separator: " AND ")
  }

  /// Whether a new database has rows in this table.
  var isMadeWithTheDatabase: Bool {
    ["push_key", "service_mark", "service_clock", "service_fact", "greatest_user"].contains(name)
  }
}
