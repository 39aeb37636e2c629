import IAMPASSProtocol

/// One transaction, as the operations see it: they are written once, for every engine.
///
/// Statements are PostgreSQL's, with parameters `$1`, `$2`, and so on. SQLite gets them by ``SQLiteDialect``, which says
/// what a statement may contain. A statement is written in the source, so that no value can become SQL.
public protocol StorageWork: SendableMetatype {
  associatedtype Row: StorageRow

  /// The rows of a question.
  func all(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row]

  /// The first row of a question; nil if there is none.
  func first(_ sql: StaticString, _ values: any StorableValue...) throws -> Row?

  /// Whether there is such a row.
  func has(_ sql: StaticString, _ values: any StorableValue...) throws -> Bool

  /// The only column of the first row; nil if there is no row.
  func text(_ sql: StaticString, _ values: any StorableValue...) throws -> String?

  /// Changes rows. An engine may say only later, at the commit, that this was refused.
  func execute(_ sql: StaticString, _ values: any StorableValue...) throws

  /// Changes rows by a statement that ends in `RETURNING`.
  ///
  /// - Returns: a row for each row that was changed.
  func change(_ sql: StaticString, _ values: any StorableValue...) throws -> [Row]

  /// Changes rows that nothing asks about in the rest of this transaction. What was asked ahead stays an answer.
  func executeUnasked(_ sql: StaticString, _ values: any StorableValue...) throws

  /// Asks in one round trip what the operation will ask one by one, as far as the questions do not depend on each other's
  /// answers. Until the next change, each of them then has its answer already.
  ///
  /// An engine without round trips does nothing here. What is asked ahead in vain, or is not, changes no answer: all of a
  /// transaction's answers are of one view.
  ///
  /// - Parameter questions: asks, and is answered what is known already, or nothing, as by empty tables. What it throws
  ///   then ends the list.
  func ahead(_ questions: (Self) throws -> Void) throws

  /// Keeps other writers from what this transaction counts, by PostgreSQL's `LOCK TABLE`. Does nothing in an engine whose
  /// writers wait for each other anyway.
  func lock(_ sql: StaticString) throws

  /// How large the database is, in bytes.
  func size() throws -> Int64
}

/// A row of an answer. Numbers and truth values are `bigint`, everything else is `text`.
///
/// Each throws ``DamagedRow`` if the table does not allow the value, or none.
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

/// What can be stored. Numbers and truth values are `bigint`, everything else is `text`.
public protocol StorableValue {
  var storedValue: StoredValue { get }
}

extension Int64: StorableValue { public var storedValue: StoredValue { .integer(self) } }
extension Int: StorableValue { public var storedValue: StoredValue { .integer(Int64(self)) } }
extension UInt32: StorableValue { public var storedValue: StoredValue { .integer(Int64(self)) } }
extension Bool: StorableValue { public var storedValue: StoredValue { .integer(self ? 1 : 0) } }
extension String: StorableValue { public var storedValue: StoredValue { .text(self) } }

/// A list is one parameter, whatever its length: `json_array_elements_text($1::json)` has a row for each member, whose
/// column `value` is a text.
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
