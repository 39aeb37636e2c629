/// A row of an answer. Reading a column as another type than the server's throws.
public struct PostgreSQLRow: Equatable, Sendable {
  /// A column's type number and its bytes; `nil` for NULL.
  struct Column: Equatable, Sendable {
    let typeNumber: UInt32
    let bytes: [UInt8]?
  }

  let columns: [Column]
  /// The columns' names; the rows of one answer share them.
  let names: [String]

  /// A column's index, counted from 0; `nil` if the row does not have the name.
  public func index(of name: String) -> Int? { names.firstIndex(of: name) }

  /// Whether the column is NULL; false for a column that the row does not have.
  public func isNull(_ index: Int) -> Bool { columns.indices.contains(index) && columns[index].bytes == nil }

  /// Whether the column is a `text`.
  public func isText(_ index: Int) -> Bool {
    columns.indices.contains(index) && columns[index].typeNumber == PostgreSQLValue.text("").typeNumber
  }

  /// A `bigint`, from column `index`, counted from 0. `nil` stands for NULL.
  public func integer(_ index: Int) throws(PostgreSQLError) -> Int64? {
    guard let bytes = try bytes(index, of: .integer(0)) else { return nil }
    guard bytes.count == 8 else { throw PostgreSQLError(.answerInvalid, detail: "column \(index)") }
    return bytes.reduce(0) { $0 << 8 | Int64($1) }
  }

  /// A `text`, from column `index`. `nil` stands for NULL.
  public func text(_ index: Int) throws(PostgreSQLError) -> String? {
    guard let bytes = try bytes(index, of: .text("")) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw PostgreSQLError(.answerInvalid, detail: "column \(index)")
    }
    return text
  }

  /// A `bytea`, from column `index`. `nil` stands for NULL.
  public func bytes(_ index: Int) throws(PostgreSQLError) -> [UInt8]? { try bytes(index, of: .bytes([])) }

  private func bytes(_ index: Int, of type: PostgreSQLValue) throws(PostgreSQLError) -> [UInt8]? {
    guard columns.indices.contains(index), columns[index].typeNumber == type.typeNumber else {
      throw PostgreSQLError(.answerInvalid, detail: "column \(index)")
    }
    return columns[index].bytes
  }
}
