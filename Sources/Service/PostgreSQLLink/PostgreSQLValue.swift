/// A parameter of a statement. It is sent separately from the SQL, never within it.
public enum PostgreSQLValue: Hashable, Sendable {
  case null
  /// A `bigint`.
  case integer(Int64)
  /// A `text`. The server refuses one with a NUL byte (22021).
  case text(String)
  /// A `bytea`.
  case bytes([UInt8])

  /// PostgreSQL's number of the type (`pg_type.dat`). 0: the server derives the type from the statement.
  var typeNumber: UInt32 {
    switch self {
    case .null: 0
    case .integer: 20
    case .text: 25
    case .bytes: 17
    }
  }

  /// The value in the server's binary format, which has a length: a C string would end at a NUL byte.
  var binary: [UInt8]? {
    switch self {
    case .null: nil
    case .integer(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) }
    case .text(let text): Array(text.utf8)
    case .bytes(let bytes): bytes
    }
  }
}
