import Glibc
import PostgreSQLLink

/// One step from an older form of the PostgreSQL database to a newer one.
///
/// The SQL is literal, as in ``Migration``. What it adds, versions before it can work with: several versions of the
/// service may run on one database. A migration that takes something away says with `least` which versions end.
struct PostgreSQLMigration: Sendable {
  /// Stored in the database, so that the migration runs once.
  let name: String
  /// How many migrations a program must know at least to work with the database after this one.
  let least: Int64
  let sql: StaticString
}

/// The PostgreSQL database's form. A released migration never changes: a new migration is added.
enum PostgreSQLSchema {
  /// In the order in which they run.
  static let migrations: [PostgreSQLMigration] = [
    .tables, .marks, .audit, .furtherAudit, .openIDClients, .notifications, .training, .faces,
    .moves, .sharedLimits, .joining, .userLists, .toldGroups,
    .administrators, .codeUses, .secondPhones, .locums, .signInNames, .hostMarks,
    .joinAsks, .hostReports, .offlineSessions, .namedLocums, .signedLists, .sessionIndices, .liftedBlocks,
    .toldNames,
    .historyPlace, .auditActors, .changeChannel, .housekeeper,
  ]

  /// Any number that no other program is likely to take: PostgreSQL's advisory locks have one number each.
  private static let migrationLock: Int64 = 7_104_226_190_031

  /// How long a migration waits for a lock before it lets those pass who wait behind it, and how long it lets them.
  private static let pause = Duration.milliseconds(500)
  /// How long a migration is tried again while others hold what it needs, as a copy of the database in progress.
  private static let greatestWait = Duration.seconds(600)
  /// How long a migration may take once it has its locks: an index over millions of rows takes its time.
  private static let patience = Duration.seconds(3_600)

  /// Brings the database up to date, once for all servers that start at the same time.
  ///
  /// A new database gets all its tables in one transaction, an older one each migration in its own. What a migration needs
  /// may be in use: then others wait behind it for 200 ms at most, and it is tried again.
  ///
  /// - Returns: the names of the migrations that were missing, in their order.
  /// - Throws: ``StorageError`` with `databaseTooNew`, and ``PostgreSQLError``.
  static func migrate(_ connection: PostgreSQLConnection) throws -> [String] {
    let before = try names(in: connection)
    let end = ContinuousClock.now + greatestWait
    connection.patience = patience + PostgreSQLConnection.answerLimit
    defer { connection.patience = PostgreSQLConnection.answerLimit }
    while try names(in: connection).count < migrations.count {
      do { try step(connection) } catch let error as PostgreSQLError where error.isWait {
        guard connection.isOpen, ContinuousClock.now < end else { throw error }
        usleep(useconds_t(pause / .microseconds(1)))
      }
    }
    return migrations.map(\.name).filter { !before.contains($0) }
  }

  /// What the database is for a program that does not change its form.
  ///
  /// - Throws: as ``migrate(_:)``.
  static func form(of connection: PostgreSQLConnection) throws -> DatabaseForm {
    let known = try names(in: connection)
    return known.count == migrations.count ? .current : known.isEmpty ? .foreign : .older
  }

  /// Users' names and what computers say may have any character, which another encoding would refuse, one by one.
  ///
  /// - Throws: ``StorageError`` with `databaseEncoding`.
  static func requireUnicode(_ connection: PostgreSQLConnection, _ url: String) throws {
    let ask = PostgreSQLCall("SELECT current_setting('server_encoding')")
    let encoding = try connection.ask([ask])[0].first?.text(0) ?? ""
    guard encoding == "UTF8" else { throw StorageError(.databaseEncoding, path: url, detail: encoding) }
  }

  /// To be asked again while the service runs: a newer server may have changed the tables meanwhile.
  ///
  /// - Throws: as ``migrate(_:)``.
  static func refuseNewer(_ connection: PostgreSQLConnection) throws {
    let later = PostgreSQLCall(
      "SELECT name FROM schema_migration WHERE least > $1 ORDER BY name LIMIT 1", .integer(Int64(migrations.count)))
    if let change = try connection.ask([later])[0].first {
      throw StorageError(.databaseTooNew, detail: try change.text(0) ?? "")
    }
  }

  /// The next migration, or all of them if the database is new.
  private static func step(_ connection: PostgreSQLConnection) throws {
    do {
      _ = try connection.ask([
        PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL lock_timeout = '200ms'"),
        PostgreSQLCall("SET LOCAL statement_timeout = '3600s'"),
        PostgreSQLCall(
          "SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), $1))::text", .integer(migrationLock)),
        PostgreSQLCall("CREATE TABLE IF NOT EXISTS schema_migration (name text PRIMARY KEY, least bigint NOT NULL)"),
      ])
      let known = try names(in: connection)
      let missing = migrations.filter { !known.contains($0.name) }
      for migration in known.isEmpty ? missing : Array(missing.prefix(1)) {
        try connection.run(script: migration.sql)
        _ = try connection.ask([
          PostgreSQLCall(
            "INSERT INTO schema_migration (name, least) VALUES ($1, $2)", .text(migration.name),
            .integer(migration.least))
        ])
      }
      let key = try PushBook.newKey()
      _ = try connection.ask([
        PostgreSQLCall(
          "INSERT INTO push_key (id, private_key) VALUES (1, $1) ON CONFLICT DO NOTHING", .text(key.exposedValue))
      ])
      try connection.commit()
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// The migrations of this program that the database has. Another program may have a table of that name.
  private static func names(in connection: PostgreSQLConnection) throws -> Set<String> {
    let columns = PostgreSQLCall(
      """
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = to_regclass('schema_migration') AND attname IN ('name', 'least') AND NOT attisdropped
      """)
    guard try connection.ask([columns])[0].first?.integer(0) == 2 else { return [] }
    let rows = try connection.ask([PostgreSQLCall("SELECT name, least FROM schema_migration")]).first ?? []
    var names: Set<String> = []
    for row in rows {
      let (name, least) = (try row.text(0) ?? "", try row.integer(1) ?? .max)
      guard least <= migrations.count else { throw StorageError(.databaseTooNew, detail: name) }
      names.insert(name)
    }
    return names.intersection(migrations.map(\.name))
  }
}

extension PostgreSQLError {
  /// Whether another transaction holds what is needed.
  fileprivate var isWait: Bool {
    switch code {
    case .refused(sqlState: "55P03"), .refused(sqlState: "40P01"): true
    default: false
    }
  }
}
