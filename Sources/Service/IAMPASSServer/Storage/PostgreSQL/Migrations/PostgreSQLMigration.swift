import Glibc
import PostgreSQLLink

/// One step from an older form of the PostgreSQL database to a newer one.
///
/// The SQL is literal, and numbers only sort the files, as in ``Migration``. Earlier versions must still work after it,
/// because several versions of the service may run on one database. If a migration removes something, `least` says which
/// versions must stop.
struct PostgreSQLMigration: Sendable {
  /// Stored in the database, so that the migration runs once.
  let name: String
  /// The least number of migrations that a program must know to use the database after this one.
  let least: Int64
  let sql: StaticString
  /// What runs in place of `sql` in a database that has tables: the same changes, each part in a transaction of its own.
  /// So no lock is held for as long as a large table is read. The last part has the migration's name: once that is noted,
  /// the notes of the parts before it go. Empty: `sql` runs in every database.
  var parts: [PostgreSQLMigration] = []

  /// The name under which a database notes that it has all of this except for the indices that are built afterwards.
  fileprivate var nameWithoutIndices: String { name + ", without indices" }

  /// What runs next in a database that has tables, and these names in `schema_migration`.
  func next(after names: Set<String>) -> PostgreSQLMigration { parts.first { !names.contains($0.name) } ?? self }
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
    .historyPlace, .auditActors, .changeChannel, .housekeeper, .userGroups, .oldCredentials, .syncedPasskeys,
    .phoneNews, .listCounts, .sealedClients, .markStamps, .signedMembers, .joinPages, .computersNames, .signInCounts,
    .consoleNetworks, .computersByName, .signingEntries, .allowedLocums, .silentComputers, .reasonsOfOrders,
    .keptCounts, .usersInOrder, .rareEntries, .oldCounters, .countedOnce, .keptPlans,
  ]

  /// The number of the advisory lock. It is one that other programs are unlikely to use.
  private static let migrationLock: Int64 = 7_104_226_190_031

  /// The pause in which waiting requests may pass, after a migration did not get its lock.
  private static let pause = Duration.milliseconds(500)
  /// How long a migration is tried again while others hold the locks that it needs, such as a running backup.
  private static let greatestWait = Duration.seconds(600)
  /// How long a migration may take once it has its locks. An index over millions of rows takes long.
  private static let patience = Duration.seconds(3_600)

  /// The tables that have many millions of rows. A database that has tables gets new indices of these while servers write:
  /// see ``build(_:of:in:_:)``.
  private static let growing: Set<String> = ["session", "audit"]

  /// Migrates the database, once for all servers that start at the same time.
  ///
  /// A new database gets all its tables in one transaction. An older one gets each migration, or each part of one, in its
  /// own transaction. If tables are in use, requests wait behind the migration for at most 200 ms, and it is tried again.
  /// The indices of large tables come after that, outside of a transaction, and the migration's name comes last.
  ///
  /// - Returns: the names of the migrations that were missing, in their order.
  /// - Throws: ``StorageError`` with `databaseTooNew`, and ``PostgreSQLError``.
  static func migrate(_ connection: PostgreSQLConnection) throws -> [String] {
    let before = try names(in: connection)
    var begin = ContinuousClock.now
    connection.patience = patience + PostgreSQLConnection.answerLimit
    defer { connection.patience = PostgreSQLConnection.answerLimit }
    while try names(in: connection).count < migrations.count {
      do {
        if try step(connection) {
          begin = .now
          continue
        }
        // Another server may need as long for an index as this one would.
        guard ContinuousClock.now < begin + patience else { throw PostgreSQLError(.refused(sqlState: "55P03")) }
      } catch let error as PostgreSQLError where error.isWait {
        guard connection.isOpen, ContinuousClock.now < begin + greatestWait else { throw error }
      }
      usleep(useconds_t(pause / .microseconds(1)))
    }
    return migrations.map(\.name).filter { !before.contains($0) }
  }

  /// The database's form, for a program that does not change it.
  ///
  /// - Throws: as ``migrate(_:)``.
  static func state(of connection: PostgreSQLConnection) throws -> SchemaState {
    let known = try names(in: connection)
    return known.count == migrations.count ? .current : known.isEmpty ? .foreign : .older
  }

  /// Throws unless the encoding is Unicode: users' names and texts of computers may have any character, which another
  /// encoding would refuse.
  ///
  /// - Throws: ``StorageError`` with `databaseEncoding`.
  static func requireUnicode(_ connection: PostgreSQLConnection, _ url: String) throws {
    let ask = PostgreSQLCall("SELECT current_setting('server_encoding')")
    let encoding = try connection.ask([ask])[0].first?.text(0) ?? ""
    guard encoding == "UTF8" else { throw StorageError(.databaseEncoding, path: url, detail: encoding) }
  }

  /// Throws if a newer server has changed the tables. Call it repeatedly while the service runs.
  ///
  /// - Throws: as ``migrate(_:)``.
  static func refuseNewer(_ connection: PostgreSQLConnection) throws {
    let later = PostgreSQLCall(
      "SELECT name FROM schema_migration WHERE least > $1 ORDER BY name LIMIT 1", .integer(Int64(migrations.count)))
    if let change = try connection.ask([later])[0].first {
      throw StorageError(.databaseTooNew, detail: try change.text(0) ?? "")
    }
  }

  /// Does the next migration, or its next part. If the database is new, does all migrations.
  ///
  /// - Returns: false, without effect, if another server is at work.
  private static func step(_ connection: PostgreSQLConnection) throws -> Bool {
    var unbuilt: (indices: [PostgreSQLIndex], part: PostgreSQLMigration, migration: PostgreSQLMigration)?
    do {
      // Whoever waits for this lock would have a view, for whose end the build of an index waits.
      let lock = try connection.ask([
        PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL lock_timeout = '200ms'"),
        PostgreSQLCall("SET LOCAL statement_timeout = '3600s'"),
        PostgreSQLCall(
          "SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema(), $1))::text", .integer(migrationLock)),
      ])
      guard try lock.last?.first?.text(0) == "true" else {
        connection.rollBack()
        return false
      }
      _ = try connection.ask([
        PostgreSQLCall("CREATE TABLE IF NOT EXISTS schema_migration (name text PRIMARY KEY, least bigint NOT NULL)")
      ])
      let notes = try notes(in: connection)
      let missing = migrations.filter { !notes.contains($0.name) }
      if missing.count == migrations.count {
        for migration in missing {
          try connection.run(script: migration.sql)
          try note(migration.name, migration, in: connection)
        }
      } else if let migration = missing.first {
        let part = migration.next(after: notes)
        let (rest, indices) = PostgreSQLScript(part.sql).separatingIndices(of: growing)
        if let rest, !notes.contains(part.nameWithoutIndices) {
          try connection.run(rest)
          try note(indices.isEmpty ? part.name : part.nameWithoutIndices, migration, in: connection)
        } else {
          unbuilt = (indices, part, migration)
        }
      }
      let key = try PushTargets.newKey()
      _ = try connection.ask([
        PostgreSQLCall(
          "INSERT INTO push_key (id, private_key) VALUES (1, $1) ON CONFLICT DO NOTHING", .text(key.exposedValue))
      ])
      try connection.commit()
    } catch {
      connection.rollBack()
      throw error
    }
    guard let unbuilt else { return true }
    return try build(unbuilt.indices, of: unbuilt.part, in: unbuilt.migration, connection)
  }

  /// Builds the indices of a migration's part while servers write, and then notes its name. If this server ends before,
  /// the next start builds what is missing.
  ///
  /// - Returns: false, without effect, if another server is at work.
  private static func build(
    _ indices: [PostgreSQLIndex], of part: PostgreSQLMigration, in migration: PostgreSQLMigration,
    _ connection: PostgreSQLConnection
  ) throws -> Bool {
    let lock = PostgreSQLCall(
      "SELECT pg_try_advisory_lock(hashtextextended(current_schema(), $1))::text", .integer(migrationLock))
    guard try connection.ask([lock])[0].first?.text(0) == "true" else { return false }
    defer {
      connection.rollBack()
      let unlock = PostgreSQLCall(
        "SELECT pg_advisory_unlock(hashtextextended(current_schema(), $1))::text", .integer(migrationLock))
      // The end of the connection ends the lock as well.
      if (try? connection.ask([unlock])) == nil { connection.close() }
    }
    // Another server may have done it before this one had the lock.
    guard try !notes(in: connection).contains(part.name) else { return true }
    for index in indices { try connection.build(index) }
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try note(part.name, migration, in: connection)
    try connection.commit()
    return true
  }

  /// Notes what was done of a migration. Once it has its own name, the names of its parts go.
  private static func note(
    _ name: String, _ migration: PostgreSQLMigration, in connection: PostgreSQLConnection
  ) throws {
    _ = try connection.ask([
      PostgreSQLCall(
        "INSERT INTO schema_migration (name, least) VALUES ($1, $2)", .text(name), .integer(migration.least))
    ])
    guard name == migration.name else { return }
    let parts = migration.parts.filter { $0.name != name }
    for done in parts.flatMap({ [$0.name, $0.nameWithoutIndices] }) + [migration.nameWithoutIndices] {
      _ = try connection.ask([PostgreSQLCall("DELETE FROM schema_migration WHERE name = $1", .text(done))])
    }
  }

  /// The migrations of this program that the database has.
  private static func names(in connection: PostgreSQLConnection) throws -> Set<String> {
    try notes(in: connection).intersection(migrations.map(\.name))
  }

  /// All names in `schema_migration`. Another program may have a table of that name.
  private static func notes(in connection: PostgreSQLConnection) throws -> Set<String> {
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
    return names
  }
}

extension PostgreSQLError {
  /// Whether another transaction holds a needed lock.
  fileprivate var isWait: Bool {
    switch code {
    case .refused(sqlState: "55P03"), .refused(sqlState: "40P01"): true
    default: false
    }
  }
}
