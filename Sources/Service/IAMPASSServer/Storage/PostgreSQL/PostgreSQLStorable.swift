import PostgreSQLLink

/// What the engine stores. Numbers and truth values are `bigint`, all else is `text`.
protocol PostgreSQLStorable {
  var value: PostgreSQLValue { get }
}

extension Int64: PostgreSQLStorable { var value: PostgreSQLValue { .integer(self) } }
extension Int: PostgreSQLStorable { var value: PostgreSQLValue { .integer(Int64(self)) } }
extension UInt32: PostgreSQLStorable { var value: PostgreSQLValue { .integer(Int64(self)) } }
extension Bool: PostgreSQLStorable { var value: PostgreSQLValue { .integer(self ? 1 : 0) } }
extension String: PostgreSQLStorable { var value: PostgreSQLValue { .text(self) } }
extension Optional: PostgreSQLStorable where Wrapped: PostgreSQLStorable {
  var value: PostgreSQLValue { map(\.value) ?? .null }
}

extension PostgreSQLRow {
  func get(_ column: String) throws -> String? { try text(place(of: column)) }
  func get(_ column: String) throws -> Int64? { try integer(place(of: column)) }
  func get(_ column: String) throws -> String { try known(get(column), column) }
  func get(_ column: String) throws -> Int64 { try known(get(column), column) }
  func get(_ column: String) throws -> Bool { try (get(column) as Int64) != 0 }

  func get(_ column: String) throws -> UInt32 {
    try known(UInt32(exactly: get(column) as Int64), column)
  }

  func time(_ column: String) throws -> UnixTime? {
    try (get(column) as Int64?).map(UnixTime.init(milliseconds:))
  }

  private func place(of column: String) throws -> Int { try known(index(of: column), column) }

  /// - Throws: ``DamagedRow`` for nil: the table does not allow it.
  private func known<Value>(_ value: Value?, _ column: String) throws -> Value {
    guard let value else { throw DamagedRow(column: column) }
    return value
  }
}
