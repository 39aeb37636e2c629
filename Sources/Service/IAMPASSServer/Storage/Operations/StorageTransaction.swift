import IAMPASSProtocol

/// One transaction, for operations that are written once for all engines.
///
/// Statements are PostgreSQL's, with parameters `$1`, `$2`, and so on. ``SQLiteDialect`` translates them for SQLite,
/// and says what a statement may contain. A statement is written in the source, so that no value can become SQL.
public protocol StorageTransaction: SendableMetatype {
  associatedtype Row: StorageRow

  /// The rows of a question.
  func all(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row]

  /// The first row of a question; nil if there is none.
  func first(_ sql: StaticString, _ values: any StorableValue...) throws -> Row?

  /// Whether the question has a row.
  func has(_ sql: StaticString, _ values: any StorableValue...) throws -> Bool

  /// The only column of the first row; nil if there is no row.
  func text(_ sql: StaticString, _ values: any StorableValue...) throws -> String?

  /// Changes rows. An engine may report a refusal only at the commit.
  func execute(_ sql: StaticString, _ values: any StorableValue...) throws

  /// Changes rows by a statement that ends in `RETURNING`.
  ///
  /// - Returns: one row for each changed row.
  func change(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row]

  /// Changes rows that are not read again in this transaction. Answers of ``prefetch(_:)`` stay valid.
  func executeKeepingPrefetched(_ sql: StaticString, _ values: any StorableValue...) throws

  /// Asks several questions in one round trip, before the operation asks them one by one. They must not depend on each
  /// other's answers. The answers are used until the next change.
  ///
  /// An engine without round trips does nothing here. An unneeded or missing question does not change answers, because
  /// all answers of a transaction are from one view.
  ///
  /// - Parameter questions: asks the questions. It gets known answers, or none, as from empty tables. An error ends the
  ///   list.
  func prefetch(_ questions: (Self) throws -> Void) throws

  /// Blocks other writers of the rows that this transaction counts, by PostgreSQL's `LOCK TABLE`. Does nothing in an
  /// engine with one writer at a time.
  func lock(_ sql: StaticString) throws

  /// The size of the database in bytes.
  func size() throws -> Int64
}

/// A row of an answer. Numbers and truth values are `bigint`, everything else is `text`.
///
/// Each function throws ``DamagedRow`` if the table does not allow the value, or does not allow NULL.
public protocol StorageRow: SendableMetatype {
  func get(_ column: String) throws -> String?
  func get(_ column: String) throws -> Int64?
  func get(_ column: String) throws -> String
  func get(_ column: String) throws -> Int64
  func get(_ column: String) throws -> Bool
  func get(_ column: String) throws -> UInt32
}

extension StorageRow {
  func time(_ column: String) throws -> UnixTime? {
    try (get(column) as Int64?).map(UnixTime.init(milliseconds:))
  }
}

/// A value of a statement's parameter.
public enum StoredValue: Sendable {
  case null
  case integer(Int64)
  case text(String)
}

/// A value that can be stored. Numbers and truth values are `bigint`, everything else is `text`.
public protocol StorableValue {
  var storedValue: StoredValue { get }
}

extension Int64: StorableValue { public var storedValue: StoredValue { .integer(self) } }
extension Int: StorableValue { public var storedValue: StoredValue { .integer(Int64(self)) } }
extension UInt32: StorableValue { public var storedValue: StoredValue { .integer(Int64(self)) } }
extension Bool: StorableValue { public var storedValue: StoredValue { .integer(self ? 1 : 0) } }
extension String: StorableValue { public var storedValue: StoredValue { .text(self) } }

/// A list is one parameter of any length: `json_array_elements_text($1::json)` has a row for each member, with the text
/// in its column `value`.
extension Array: StorableValue where Element: StorableValue {
  public var storedValue: StoredValue {
    let list = JSON.array(map(\.storedValue.json))
    return .text(String(decoding: list.encoded(), as: UTF8.self))
  }
}

extension StoredValue {
  fileprivate var json: JSON {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    case .text(let text): .string(text)
    }
  }
}

extension Optional: StorableValue where Wrapped: StorableValue {
  public var storedValue: StoredValue { map(\.storedValue) ?? .null }
}
