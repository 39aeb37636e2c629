import GRDB
import GRDBSQLite
import PostgreSQLLink

/// A SQLite statement that reads and writes rows in PostgreSQL's form directly, without copies.
final class RawStatement {
  private let statement: OpaquePointer
  private let connection: OpaquePointer?

  init(_ sql: String, _ db: Database) throws {
    connection = db.sqliteConnection
    var made: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &made, nil) == SQLITE_OK, let made else {
      throw Self.error(connection)
    }
    statement = made
  }

  deinit { sqlite3_finalize(statement) }

  /// Runs the statement to its next row; false if there is none.
  func step() throws -> Bool {
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw Self.error(connection)
    }
  }

  func reset() { sqlite3_reset(statement) }

  /// Runs the statement with these columns of a row.
  func run(_ tuple: UnsafeRawBufferPointer, _ table: PostgreSQLTable, _ columns: [Int]) throws {
    try bind(tuple, table, columns)
    _ = try step()
    reset()
  }

  /// Binds these columns of a row. The row must stay valid until the statement is reset.
  func bind(_ tuple: UnsafeRawBufferPointer, _ table: PostgreSQLTable, _ columns: [Int]) throws {
    let fields = PostgreSQLTuple.fields(of: tuple)
    for (place, column) in columns.enumerated() {
      guard column < fields.count else { throw DamagedRow(column: table.columns[column].name) }
      let place = Int32(place + 1)
      guard let field = fields[column] else {
        sqlite3_bind_null(statement, place)
        continue
      }
      if table.columns[column].isInteger {
        sqlite3_bind_int64(statement, place, tuple[field].reduce(0) { $0 << 8 | Int64($1) })
      } else {
        let bytes = tuple[field]
        // SAFETY: the bytes are the tuple's, which lives until the statement is reset. An empty text is not NULL.
        let start = bytes.isEmpty ? tuple.baseAddress : UnsafeRawBufferPointer(rebasing: bytes).baseAddress
        sqlite3_bind_text(
          statement, place, start?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), nil)
      }
    }
  }

  /// Adds the values of the row that ``step()`` found.
  func append(_ count: Int, to tuple: inout PostgreSQLTuple) {
    for column in 0..<Int32(count) {
      switch sqlite3_column_type(statement, column) {
      case SQLITE_NULL: tuple.appendNull()
      case SQLITE_INTEGER: tuple.append(sqlite3_column_int64(statement, column))
      default:
        // SAFETY: SQLite keeps the text until the next step.
        let start = sqlite3_column_text(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        tuple.append(text: UnsafeRawBufferPointer(start: start, count: count))
      }
    }
  }

  private static func error(_ connection: OpaquePointer?) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
      message: String(cString: sqlite3_errmsg(connection)))
  }
}
