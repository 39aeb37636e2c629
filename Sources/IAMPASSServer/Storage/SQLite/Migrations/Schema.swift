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
  ]

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for migration in migrations { migrator.registerMigration(migration.name, migrate: migration.run) }
    return migrator
  }
}
