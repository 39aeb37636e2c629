/// A statement with its parameters.
public struct PostgreSQLCall: Hashable, Sendable {
  let sql: String
  let values: [PostgreSQLValue]

  /// A statement whose parameters are `$1`, `$2`, and so on. It is written in the source, so that no value can become
  /// SQL.
  public init(_ sql: StaticString, _ values: PostgreSQLValue...) { self.init(sql, values) }

  /// The same for a list of values.
  public init(_ sql: StaticString, _ values: [PostgreSQLValue]) { self.init(composed: "\(sql)", values) }

  /// The same, composed in this module by ``PostgreSQLTable``, which quotes names.
  init(composed sql: String, _ values: [PostgreSQLValue] = []) {
    self.sql = sql
    self.values = values
  }

  /// The same statement with parameters of other types is another one: NULL has no type of its own.
  var preparedAs: PreparedName { PreparedName(sql: sql, types: values.map(\.typeNumber)) }
}

/// What a prepared statement is known by.
struct PreparedName: Hashable {
  let sql: String
  let types: [UInt32]
}
