import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// No statement reads all rows of a table that grows with the company: each is explained by each engine.
@Suite struct StatementPlanTests {
  /// By their names on PostgreSQL, and on SQLite.
  static let growing: Set<String> = [
    "session", "answer", "audit", "spent_nonce", "app_user", "user", "phone", "link", "code_use", "source_block",
    "listed_user", "signed_line", "signed_member", "group_member", "user_group", "host_credential", "joining",
    "join_code", "phone_credential", "push_subscription", "app_token", "face", "training", "host_boot", "host_mark",
    "host_report", "join_ask", "committed_write", "failure_count", "poll_pace",
  ]

  /// What reads all users of a list, and may: a part of the statement, and why.
  static let wholeLists = [
    "AND user_id IS NOT NULL ORDER BY name": "a command that lists all of them",
    "WHERE listed_user.application = $1 ORDER BY": "what a phone is to sign, which is the whole list",
  ]

  /// What reads many rows, and may: a part of the statement, and why.
  private static let exceptions = [
    "INSERT INTO application (": "SQLite looks at what names a new row only while a foreign key is broken",
    "DELETE FROM link WHERE used_at IS NULL": "once after a copy was put back, or a standby promoted",
    "DELETE FROM application": "once in an application's life, with all of its sessions",
    "FROM host_mark CROSS JOIN host_credential": "by an index of copied computers alone, which are few",
    "SELECT * FROM joining ORDER BY asked_at": "a command that lists all of them",
    "JOIN application ON application.id = join_code.application ORDER BY": "the same command's codes",
    "FROM spent_nonce ORDER BY spent_at DESC LIMIT 1 OFFSET": "by its index, and as many as are usually kept at most",
  ]

  /// Whole statements that read many rows, and may, and why.
  private static let wholeStatements = [
    "DELETE FROM signed_line": "once the computers give up what was signed",
    "DELETE FROM push_subscription": "once an administrator gives up the key that sealed them",
  ]

  @Test func sqliteReadsNoTableThatGrowsAsAWhole() async throws {
    let own = try StorageStatements.sqlite.get()
    #expect(own.count > 5)
    let statements = try Self.statements() + own
    let database = try Self.tables.get()
    let complaints = try await database.read { db in
      let names = try Self.names(in: db)
      var complaints: [String] = []
      for statement in statements {
        let sql = SQLiteDialect.translated(statement)
        for step in try Self.steps(of: statement, db) where step.hasPrefix("SCAN ") {
          let read = SQLitePlan.tables(in: step, of: sql, names)
          if !read.isSubset(of: names.subtracting(Self.growing)) { complaints.append("\(step): \(statement)") }
        }
      }
      return complaints
    }
    #expect(complaints == [])
  }

  /// SQLite's plan has an alias in the place of a table's name.
  @Test func aTableIsFoundByItsAlias() async throws {
    let database = try Self.tables.get()
    let statements = [
      "SELECT * FROM session AS s WHERE s.context = 'x'", "SELECT one.id FROM audit one WHERE one.event = 'x'",
      "WITH some AS (SELECT id FROM audit WHERE id > 5 LIMIT 2) SELECT * FROM some, application AS a",
      "SELECT value FROM json_each('[1]')",
    ]
    let read = try await database.read { db in
      let names = try Self.names(in: db)
      var read: [Set<String>] = []
      for statement in statements {
        var tables: Set<String> = []
        for step in try Self.steps(of: statement, db) {
          tables.formUnion(SQLitePlan.tables(in: step, of: statement, names))
        }
        read.append(tables)
      }
      return read
    }
    #expect(read == [["session"], ["audit"], ["audit", "application"], []])
    #expect(SQLitePlan.tables(in: "SCAN x", of: "SELECT 1", ["session"]) == ["x"])
  }

  /// The audit keeps a year and more. What is asked of its last days begins there.
  @Test func noAuditIsReadFromItsBeginning() throws {
    let asked = try Self.allStatements().filter { $0.contains(#/FROM audit\b/#) && $0.contains(#/\bat >= /#) }
    #expect(asked.count >= 2)
    for statement in asked { #expect(statement.contains(#/\bid >=? /#), "\(statement)") }
  }

  /// Triggers keep how many users, phones, computers and sessions there are. What is counted is one user's, one computer's or
  /// one group's.
  @Test func noCompanyIsCountedForAPage() throws {
    let counts = try Self.allStatements().flatMap { statement in
      statement.matches(of: #/count\(\*\) FROM (app_user|phone|session|host_credential)\b[^)]*/#).map { String($0.0) }
    }
    let small = [
      "phone.user_id = listed_user.user_id", "session.credential = host_credential.id",
      "computer_group = user_group.name",
    ]
    #expect(counts.count >= small.count)
    for count in counts { #expect(small.contains { count.contains($0) }, "\(count)") }
  }

  /// An application is a whole company. What a computer asks for its list reads no more than it is told.
  @Test func noListOfUsersIsReadAsAWhole() async throws {
    let database = try Self.tables.get()
    let complaints = try await database.read { db in
      let lists: Set<String> = ["listed_user", "signed_line", "signed_member", "group_member"]
      let names = try Self.names(in: db)
      var complaints: [String] = []
      for statement in try Self.statements() where !Self.wholeLists.keys.contains(where: { statement.contains($0) }) {
        let sql = SQLiteDialect.translated(statement)
        for step in try Self.steps(of: statement, db)
        where step.hasPrefix("SEARCH ") && step.hasSuffix(" (application=?)") {
          let read = SQLitePlan.tables(in: step, of: sql, names)
          if !read.isSubset(of: names.subtracting(lists)) { complaints.append("\(step): \(statement)") }
        }
      }
      return complaints
    }
    #expect(complaints == [])
  }

  /// A group has few users of a company. Its lines have an index, and are not found by their texts.
  @Test func aGroupsSignedLinesAreFoundByTheirIndex() throws {
    let asked = try Self.allStatements().filter { $0.contains("signed_line") }
    #expect(asked.contains { $0.contains("signed_member") })
    for statement in asked { #expect(!statement.contains("strpos("), "\(statement)") }
  }

  /// The planner avoids reading whole tables wherever it can, although these are empty.
  @Test func postgreSQLReadsNoTableThatGrowsAsAWhole() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try Self.explaining(room)
    let own = try StorageStatements.postgreSQL.get()
    #expect(own.count > 20)
    var complaints: [String] = []
    for statement in try Self.statements() + own {
      for text in try Self.plan(of: statement, connection) {
        if let scan = text.firstMatch(of: /Seq Scan on ([a-z_]+)/), Self.growing.contains(String(scan.1)) {
          complaints.append("\(text): \(statement)")
        }
      }
    }
    #expect(complaints == [])
  }

  /// A name in any case is one of an index, and not of all computers of a company.
  @Test func sqliteFindsAComputersNameByItsIndex() async throws {
    let database = try Self.tables.get()
    let steps: [String] = try await database.read { db in
      try Self.namesInAnyCase().flatMap { statement -> [String] in
        let parameters = [Int?](repeating: nil, count: Self.parameterCount(of: statement))
        return try Row.fetchAll(
          db, sql: "EXPLAIN QUERY PLAN " + SQLiteDialect.translated(statement),
          arguments: StatementArguments(parameters)
        ).map { $0["detail"] as String? ?? "" }
      }
    }
    let searches = steps.filter { $0.contains(#/(SCAN|SEARCH) (host_credential|joining)\b/#) }
    #expect(searches.count == 3)
    for search in searches { #expect(search.contains("<expr>=?"), "\(search)") }
  }

  /// The planner takes another index for tables that are empty.
  @Test func postgreSQLFindsAComputersNameByItsIndex() async throws {
    let room = try await StorageFixture(.postgresql)
    let code = try await room.storage.createJoinCode(
      JoinOrder(application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: false), at: room.now)
    let connection = try Self.explaining(room)
    // Thousands of entries of the audit, and of counts of one code, take longer than a statement may.
    try connection.run(
      script: "ALTER TABLE host_credential DISABLE TRIGGER USER; ALTER TABLE joining DISABLE TRIGGER USER")
    _ = try connection.run([
      PostgreSQLCall(
        """
        INSERT INTO host_credential (id, application, name, host, secret, created_at)
        SELECT 'one ' || n, $1, 'desk ' || n, 'host ' || n, 's', 1 FROM generate_series(1, 3000) AS n
        """, .text(room.application.id)),
      PostgreSQLCall(
        """
        INSERT INTO joining (id, code, name, mark, secret_digest, state, address, asked_at)
        SELECT 'one ' || n, $1, 'desk ' || n, '1', 'd', 'waiting', 'a', n FROM generate_series(1, 3000) AS n
        """, .text(code.id)),
    ])
    try connection.run(script: "ANALYZE host_credential; ANALYZE joining; ANALYZE join_code")
    let lines = try Self.namesInAnyCase().flatMap { try Self.plan(of: $0, connection) }
    #expect(lines.filter { $0.contains("Index Cond") && $0.contains("lower(") }.count == 3, "\(lines)")
  }

  /// Entries of sign-ins are many more. Orders look for those of signing, and so does each page that says what is not signed.
  @Test func sqliteFindsEntriesOfSigningByTheirIndices() async throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let steps = try await database.read { db in try Self.entriesOfSigning().flatMap { try Self.steps(of: $0, db) } }
    let looks = steps.filter { $0.contains(#/(SCAN|SEARCH) audit\b/#) }
    #expect(looks.count == 3)
    for look in looks { #expect(look.contains("INDEX signing_entry"), "\(look)") }
  }

  @Test func postgreSQLFindsEntriesOfSigningByTheirIndices() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try Self.explaining(room)
    try Self.fillAudit(connection)
    let lines = try Self.entriesOfSigning().flatMap { try Self.plan(of: $0, connection) }
    #expect(lines.filter { $0.contains("signing_entry") }.count == 3, "\(lines)")
  }

  /// An event that a question leaves out would never be found.
  private static func entriesOfSigning() throws -> [String] {
    let statements = try allStatements().filter { $0.contains("',' || event || ','") }
    #expect(statements.count == 3)
    for statement in statements {
      for event in SigningEvent.allCases { #expect(statement.contains("'\(event.rawValue)'"), "\(event)") }
    }
    return statements
  }

  /// A locum is allowed by hand, and rarely. All sign-ins of a company's day are not read for it.
  @Test func sqliteFindsAllowedLocumsByTheirIndex() async throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let steps = try await database.read { db in try Self.steps(of: Self.allowedLocums(), db) }
    #expect(steps.count == 1 && steps.first?.contains("INDEX locum_allowed (user=? AND noted_at>?)") == true)
  }

  @Test func postgreSQLFindsAllowedLocumsByTheirIndex() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try Self.explaining(room)
    try Self.fillAudit(connection)
    let lines = try Self.plan(of: Self.allowedLocums(), connection)
    #expect(lines.filter { $0.contains("locum_allowed") }.count == 1, "\(lines)")
  }

  /// The console's front page asks for them. In a company, nearly all computers were used today.
  @Test func sqliteFindsSilentComputersByTheirDay() async throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let steps = try await database.read { db in try Self.steps(of: Self.silentComputers(), db) }
    let looks = steps.filter { $0.contains(#/(SCAN|SEARCH) host_credential\b|TEMP B-TREE/#) }
    #expect(looks.count == 1 && looks.first?.contains("INDEX silent_computer") == true, "\(looks)")
  }

  @Test func postgreSQLFindsSilentComputersByTheirDay() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try Self.explaining(room)
    try connection.run(script: "ALTER TABLE host_credential DISABLE TRIGGER USER")
    _ = try connection.run([
      PostgreSQLCall(
        """
        INSERT INTO host_credential (id, application, name, host, secret, created_at, used_day)
        SELECT 'one ' || n, $1, 'desk ' || n, 'host ' || n, 's', n, n FROM generate_series(1, 3000) AS n
        """, .text(room.application.id))
    ])
    try connection.run(script: "ANALYZE host_credential")
    let lines = try Self.plan(of: Self.silentComputers(), connection)
    #expect(lines.filter { $0.contains("silent_computer") }.count == 1, "\(lines)")
  }

  private static func silentComputers() throws -> String {
    try #require(try allStatements().first { $0.contains("ORDER BY used_day") && $0.contains("lower($1::text)") })
  }

  private static func allowedLocums() throws -> String {
    try #require(try allStatements().first { $0.contains("event = 'locum allowed'") })
  }

  /// The planner takes any index of a table that is empty.
  static func fillAudit(_ connection: PostgreSQLConnection) throws {
    try connection.run(
      script: """
        ALTER TABLE audit DISABLE TRIGGER USER;
        INSERT INTO audit (at, event, user_id, noted_at) SELECT n, 'approved', 1, n FROM generate_series(1, 3000) AS n;
        ANALYZE audit;
        """)
  }

  static func names(in db: Database) throws -> Set<String> {
    try String.fetchSet(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
  }

  static func steps(of statement: String, _ db: Database) throws -> [String] {
    let parameters = [Int?](repeating: nil, count: parameterCount(of: statement))
    return try Row.fetchAll(
      db, sql: "EXPLAIN QUERY PLAN " + SQLiteDialect.translated(statement), arguments: StatementArguments(parameters)
    ).map { $0["detail"] as String? ?? "" }
  }

  private static func namesInAnyCase() throws -> [String] {
    let statements = try allStatements().filter { $0.contains("COLLATE \"C\") = lower(") }
    #expect(statements.count == 2)
    return statements
  }

  /// A connection that explains statements: see ``plan(of:_:)``.
  static func explaining(_ room: StorageFixture) throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(
      to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
    try connection.run(
      script: """
        SET enable_seqscan = off;
        SET plan_cache_mode = force_generic_plan;
        CREATE FUNCTION plan(statement text, parameters text) RETURNS SETOF text LANGUAGE plpgsql AS $$
        BEGIN
          EXECUTE 'PREPARE explained AS ' || statement;
          RETURN QUERY EXECUTE 'EXPLAIN EXECUTE explained' || parameters;
          DEALLOCATE explained;
        END $$
        """)
    return connection
  }

  static func plan(of statement: String, _ connection: PostgreSQLConnection) throws -> [String] {
    let count = parameterCount(of: statement)
    let parameters = count == 0 ? "" : "(\(Array(repeating: "NULL", count: count).joined(separator: ", ")))"
    return try connection.run([
      PostgreSQLCall("SELECT plan($1, $2) AS line", .text(statement), .text(parameters))
    ])[0].map { try $0.get("line") }
  }

  static func parameterCount(of statement: String) -> Int {
    statement.matches(of: /\$([0-9]+)/).compactMap { Int($0.1) }.max() ?? 0
  }

  /// What the operations ask, but for what may read many rows.
  static func statements() throws -> [String] {
    let statements = try allStatements()
    for part in exceptions.keys { #expect(statements.contains { $0.contains(part) }, "nobody asks \(part)") }
    for whole in wholeStatements.keys { #expect(statements.contains(whole), "nobody asks \(whole)") }
    return statements.filter { statement in
      wholeStatements[statement] == nil && !exceptions.keys.contains { statement.contains($0) }
    }
  }

  /// What the operations ask, as their sources have it.
  static func allStatements() throws -> [String] {
    let statements = try StorageStatements.operations.get()
    // A change of the sources' form must not leave all of them out.
    #expect(statements.count > 200)
    return statements
  }

  /// SQLite's tables, which no test here changes.
  private static let tables = Result {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    return database
  }
}
