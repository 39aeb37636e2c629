import GRDB
import PostgreSQLLink

/// The tables and columns of a database, under their names in PostgreSQL.
///
/// A move copies the columns of PostgreSQL's catalog. A column that only the data folder has would be lost silently.
/// That can happen if a move of an older version has left one end closed, because a closed database is not migrated.
struct TableForm: Equatable {
  /// The columns as `table.column`, without the numbers that are SQLite's rowid.
  let columns: Set<String>

  init(_ tables: [PostgreSQLTable]) {
    columns = Set(
      tables.flatMap { table in
        table.columns.indices.lazy.filter { table.sqliteColumn($0) != "rowid" }
          .map { "\(table.name).\(table.columns[$0].name)" }
      })
  }

  init(of connection: PostgreSQLConnection) throws {
    self.init(try PostgreSQLTable.all(in: connection, except: PostgreSQLMoveEnd.ownTables))
  }

  init(of db: Database) throws {
    columns = try String.fetchSet(
      db,
      sql: """
        SELECT IIF(t.name = 'user', 'app_user', t.name) || '.' || IIF(c.name = 'user', 'user_id', c.name)
        FROM sqlite_master t JOIN pragma_table_info(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
          AND t.name NOT IN ('grdb_migrations', 'database_move') AND NOT (c.name = 'number' AND c.pk = 1)
        """)
  }

  /// - Throws: ``MoveRefusal`` if one of the two has what the other one does not have.
  func agree(with other: TableForm) throws {
    guard let column = columns.symmetricDifference(other.columns).min() else { return }
    throw MoveRefusal(.formsDiffer, column)
  }
}
