/// A statement with its parameters.
public struct PostgreSQLCall: Hashable, Sendable {
  let sql: String
  let values: [PostgreSQLValue]

  /// A statement whose parameters are `$1`, `$2`, and so on. It is written in the source, so that no value can become
  /// SQL.
  public init(_ sql: StaticString, _ values: PostgreSQLValue...) { self.init(sql, values) }

  /// A statement with a list of values.
  public init(_ sql: StaticString, _ values: [PostgreSQLValue]) { self.init(composed: "\(sql)", values) }

  /// A statement that ``PostgreSQLTable`` composes in this module. It quotes names.
  init(composed sql: String, _ values: [PostgreSQLValue] = []) {
    self.sql = sql
    self.values = values
  }

  /// The name as a prepared statement. With parameters of other types it is another statement, because NULL has no
  /// type.
  var preparedAs: PreparedName { PreparedName(sql: sql, types: values.map(\.typeNumber)) }
}

/// The key of a prepared statement.
struct PreparedName: Hashable {
  let sql: String
  let types: [UInt32]
}
