import PostgreSQLLink

/// What an operation does in its one transaction.
///
/// A change that returns nothing is sent with the next question, or with the commit: most operations take two round
/// trips. What the server then refuses fails the whole transaction.
final class PostgreSQLWork {
  private let connection: PostgreSQLConnection
  private var unsent: [PostgreSQLCall]
  /// Whether there is something to commit.
  private(set) var hasChanged = false

  /// - Parameter opening: what begins the transaction; sent with the first question.
  init(_ connection: PostgreSQLConnection, opening: [PostgreSQLCall] = []) {
    self.connection = connection
    unsent = opening
  }

  /// The rows of a question.
  func all(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws -> [PostgreSQLRow] {
    try ask(sql, values.map(\.value))
  }

  /// The first row of a question; nil if there is none.
  func first(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws -> PostgreSQLRow? {
    try ask(sql, values.map(\.value)).first
  }

  /// The first row of the same question for each of these values, in one round trip; nil where there is none.
  func firsts(_ sql: StaticString, each values: [PostgreSQLValue]) throws -> [PostgreSQLRow?] {
    guard !values.contains(where: \.hasNUL) else { return try values.map { try ask(sql, [$0]).first } }
    let calls = unsent + values.map { PostgreSQLCall(sql, $0) }
    unsent = []
    return try connection.ask(calls).suffix(values.count).map(\.first)
  }

  /// Whether there is such a row.
  func has(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws -> Bool {
    try !ask(sql, values.map(\.value)).isEmpty
  }

  /// The only column of the first row; nil if there is no row.
  func text(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws -> String? {
    try ask(sql, values.map(\.value)).first?.text(0)
  }

  /// Changes rows. What is refused is found out later.
  func execute(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws {
    hasChanged = true
    unsent.append(PostgreSQLCall(sql, values.map(\.value)))
  }

  /// Changes rows by a statement that ends in `RETURNING`.
  ///
  /// - Returns: a row for each row that was changed.
  func change(_ sql: StaticString, _ values: any PostgreSQLStorable...) throws -> [PostgreSQLRow] {
    let rows = try send(PostgreSQLCall(sql, values.map(\.value)))
    if !rows.isEmpty { hasChanged = true }
    return rows
  }

  /// Ends the transaction, which changed something, by these last calls and the commit.
  func commit(after last: PostgreSQLCall) throws {
    defer { unsent = [] }
    try connection.commit(after: unsent + [last])
  }

  /// Ends the transaction, which changed nothing.
  func end() throws {
    // Nothing was asked: there is no transaction.
    guard connection.isInTransaction else { return }
    _ = try send(PostgreSQLCall("COMMIT"))
  }

  private func ask(_ sql: StaticString, _ values: [PostgreSQLValue]) throws -> [PostgreSQLRow] {
    // Questions compare texts for equality alone, and PostgreSQL's texts have no NUL: no row can match.
    guard !values.contains(where: \.hasNUL) else { return [] }
    return try send(PostgreSQLCall(sql, values))
  }

  private func send(_ call: PostgreSQLCall) throws -> [PostgreSQLRow] {
    let calls = unsent + [call]
    unsent = []
    return try connection.ask(calls).last ?? []
  }
}

extension PostgreSQLValue {
  fileprivate var hasNUL: Bool { if case .text(let text) = self { text.utf8.contains(0) } else { false } }
}
