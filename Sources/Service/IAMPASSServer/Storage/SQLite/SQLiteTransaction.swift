import GRDB

/// Every statement stays prepared, because preparing costs more than running it.
extension Database: StorageTransaction {
  public func all(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row] {
    try Row.fetchAll(prepared(sql), arguments: arguments(values))
  }

  public func first(_ sql: StaticString, _ values: any StorableValue...) throws -> Row? {
    try Row.fetchOne(prepared(sql), arguments: arguments(values))
  }

  public func has(_ sql: StaticString, _ values: any StorableValue...) throws -> Bool {
    try Row.fetchOne(prepared(sql), arguments: arguments(values)) != nil
  }

  public func text(_ sql: StaticString, _ values: any StorableValue...) throws -> String? {
    try String.fetchOne(prepared(sql), arguments: arguments(values))
  }

  public func execute(_ sql: StaticString, _ values: any StorableValue...) throws {
    try prepared(sql).execute(arguments: arguments(values))
  }

  public func executeKeepingPrefetched(_ sql: StaticString, _ values: any StorableValue...) throws {
    try prepared(sql).execute(arguments: arguments(values))
  }

  /// Does nothing: there are no round trips.
  public func prefetch(_ questions: (Database) throws -> Void) {}

  public func change(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row] {
    try Row.fetchAll(prepared(sql), arguments: arguments(values))
  }

  /// Does nothing: the database has one writer at a time.
  public func lock(_ sql: StaticString) {}

  public func size() throws -> Int64 {
    try Int64.fetchOne(self, sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
  }

  private func prepared(_ sql: StaticString) throws -> Statement {
    try cachedStatement(sql: SQLiteDialect.statement(sql))
  }

  private func arguments(_ values: [any StorableValue]) -> StatementArguments {
    StatementArguments(values.map(\.storedValue.databaseValue))
  }
}

extension StoredValue {
  fileprivate var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .text(let text): text.databaseValue
    }
  }
}

extension Row: StorageRow {
  /// A column's value. Throws ``DamagedRow``: GRDB's subscripts would end the process, and its own error shows the
  /// whole row, with secrets.
  public func get<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
    let name = SQLiteDialect.column(column)
    do { return try decode(forColumn: name) } catch { throw DamagedRow(column: name) }
  }
}
