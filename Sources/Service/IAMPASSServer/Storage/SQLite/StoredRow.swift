import GRDB

extension Row {
  /// A column's value, or ``DamagedRow``: GRDB's subscripts would end the process, and its own error shows the whole row,
  /// secrets too.
  func get<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
    do { return try decode(forColumn: column) } catch { throw DamagedRow(column: column) }
  }

  func time(_ column: String) throws -> UnixTime? {
    try (get(column) as Int64?).map(UnixTime.init(milliseconds:))
  }
}

/// For what requests ask again and again: the statement stays prepared, since preparing costs more than running it.
extension Database {
  func firstRow(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
    try Row.fetchOne(try cachedStatement(sql: sql), arguments: arguments)
  }

  func allRows(_ sql: String, _ arguments: StatementArguments) throws -> [Row] {
    try Row.fetchAll(try cachedStatement(sql: sql), arguments: arguments)
  }

  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }
}
