import PostgreSQLLink

extension PostgreSQLValue {
  init(_ value: any StorableValue) {
    switch value.storedValue {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(text)
    }
  }
}

extension PostgreSQLRow: StorageRow {
  public func get(_ column: String) throws -> String? { try text(place(of: column)) }
  public func get(_ column: String) throws -> Int64? { try integer(place(of: column)) }
  public func get(_ column: String) throws -> String { try known(get(column), column) }
  public func get(_ column: String) throws -> Int64 { try known(get(column), column) }
  public func get(_ column: String) throws -> Bool { try (get(column) as Int64) != 0 }

  public func get(_ column: String) throws -> UInt32 {
    try known(UInt32(exactly: get(column) as Int64), column)
  }

  private func place(of column: String) throws -> Int { try known(index(of: column), column) }

  /// - Throws: ``DamagedRow`` for nil, which the table does not allow.
  private func known<Value>(_ value: Value?, _ column: String) throws -> Value {
    guard let value else { throw DamagedRow(column: column) }
    return value
  }
}
