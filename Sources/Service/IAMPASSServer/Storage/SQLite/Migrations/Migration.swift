import GRDB

/// One step from an older form of the database to a newer one.
///
/// The SQL is literal: a migration with a value from the code would change with the code, and databases that were
/// migrated before would differ from new ones. The numbers of the files only sort them, and some were never used: the
/// order is that of ``Schema/migrations``.
struct Migration: Sendable {
  /// Stored in the database, so that the migration runs once.
  let name: String
  let sql: String
  /// The part that SQL cannot do. It runs after the SQL.
  private let then: (@Sendable (Database) throws -> Void)?

  init(_ name: String, sql: String, then: (@Sendable (Database) throws -> Void)? = nil) {
    self.name = name
    self.sql = sql
    self.then = then
  }

  func run(in db: Database) throws {
    try db.execute(sql: sql)
    try then?(db)
  }
}
