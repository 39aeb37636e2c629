import GRDB

/// The database's form, by the migrations that make it. A released migration never changes: a new migration is added.
enum Schema {
  /// In the order in which they run.
  static let migrations: [Migration] = [
    .first,
    .push,
    .sourceBlocks,
    .hostCredentials,
    .matchCodes,
    .phoneCredentials,
    .heldBackRequests,
    .denials,
    .wrongCodes,
    .audit,
    .console,
    .furtherAudit,
    .phonePages,
    .restoredCopies,
    .userIDs,
    .serviceMark,
    .hostBoots,
    .recentMatchCodes,
    .serviceTime,
    .approvals,
    .approvalTokens,
    .looks,
    .auditDates,
    .openIDClients,
    .notifications,
    .training,
    .faces,
    .moves,
    .joining,
    .userLists,
    .toldGroups,
    .administrators,
    .codeUses,
    .secondPhones,
    .locums,
    .signInNames,
    .hostMarks,
    .joinAsks,
    .hostReports,
    .offlineSessions,
    .namedLocums,
    .signedLists,
    .sessionIndices,
    .liftedBlocks,
    .toldNames,
    .auditActors,
    .userGroups,
    .oldCredentials,
    .syncedPasskeys,
    .listCounts,
    .sealedClients,
    .markStamps,
    .signedMembers, .joinPages, .computersNames, .signInCounts,
    .consoleNetworks, .computersByName, .signingEntries, .allowedLocums, .silentComputers, .reasonsOfOrders,
    .keptCounts, .usersInOrder, .rareEntries,
  ]

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for migration in migrations { migrator.registerMigration(migration.name, migrate: migration.run) }
    return migrator
  }

  /// The form of `db`, for a program that does not change it.
  static func state(of db: Database) throws -> SchemaState {
    let done = try migrator.appliedIdentifiers(db)
    let isDone = migrations.map { done.contains($0.name) }
    return isDone.contains(false) ? isDone.contains(true) ? .older : .foreign : .current
  }

  /// - Throws: ``StorageError`` with `databaseTooNew`. It is not known which older programs could still work.
  static func refuseNewer(_ db: Database, _ path: String) throws {
    let later = try migrator.appliedIdentifiers(db).subtracting(migrations.map(\.name))
    if let change = later.min() { throw StorageError(.databaseTooNew, path: path, detail: change) }
  }

  /// Does the migrations that are missing.
  ///
  /// Another process may do the same, such as a command beside a starting service. GRDB reads only once which
  /// migrations are done. A migration that the other process did meanwhile then fails completely, because its name can
  /// be stored only once. So a failure counts only if no migration was done since.
  ///
  /// - Returns: the names of the missing migrations, in their order.
  static func bringUpToDate(_ database: any DatabaseWriter) throws -> [String] {
    let migrator = migrator
    let before = try database.read(migrator.appliedIdentifiers)
    while true {
      let done = try database.read(migrator.appliedIdentifiers)
      do {
        try migrator.migrate(database)
        return migrations.map(\.name).filter { !before.contains($0) }
      } catch {
        guard try database.read(migrator.appliedIdentifiers) != done else { throw error }
      }
    }
  }
}
