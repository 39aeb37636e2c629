import PostgreSQLLink

/// What an operation does in its one transaction.
///
/// A change that returns nothing is sent with the next question, or with the commit: most operations take two round
/// trips. What the server then refuses fails the whole transaction.
public final class PostgreSQLWork: StorageWork {
  private let connection: PostgreSQLConnection
  private var unsent: [PostgreSQLCall]
  /// Whether there is something to commit.
  private(set) var hasChanged = false
  /// Notes how long the opening took; nil once it is noted.
  private var lock: Histogram?
  private let openingCount: Int

  /// - Parameters:
  ///   - opening: what begins the transaction; sent with the first question.
  ///   - lock: notes how long the opening waited for locks. Its last call asks how many microseconds that were.
  init(_ connection: PostgreSQLConnection, opening: [PostgreSQLCall] = [], lock: Histogram? = nil) {
    self.connection = connection
    self.lock = lock
    unsent = opening
    openingCount = opening.count
  }

  public func all(_ sql: StaticString, _ values: any StorableValue...) throws -> [PostgreSQLRow] {
    try ask(sql, values.map(PostgreSQLValue.init))
  }

  public func first(_ sql: StaticString, _ values: any StorableValue...) throws -> PostgreSQLRow? {
    try ask(sql, values.map(PostgreSQLValue.init)).first
  }

  /// The first row of the same question for each of these values, in one round trip; nil where there is none.
  func firsts(_ sql: StaticString, each values: [PostgreSQLValue]) throws -> [PostgreSQLRow?] {
    guard !values.contains(where: \.hasNUL) else { return try values.map { try ask(sql, [$0]).first } }
    let calls = unsent + values.map { PostgreSQLCall(sql, $0) }
    unsent = []
    return try connection.ask(calls).suffix(values.count).map(\.first)
  }

  public func has(_ sql: StaticString, _ values: any StorableValue...) throws -> Bool {
    try !ask(sql, values.map(PostgreSQLValue.init)).isEmpty
  }

  public func text(_ sql: StaticString, _ values: any StorableValue...) throws -> String? {
    try ask(sql, values.map(PostgreSQLValue.init)).first?.text(0)
  }

  public func execute(_ sql: StaticString, _ values: any StorableValue...) throws {
    hasChanged = true
    unsent.append(PostgreSQLCall(sql, values.map(PostgreSQLValue.init)))
  }

  public func change(_ sql: StaticString, _ values: any StorableValue...) throws -> [PostgreSQLRow] {
    let rows = try send(PostgreSQLCall(sql, values.map(PostgreSQLValue.init)))
    if !rows.isEmpty { hasChanged = true }
    return rows
  }

  public func lock(_ sql: StaticString) throws { try execute(sql) }

  public func size() throws -> Int64 {
    guard let row = try first("SELECT pg_database_size(current_database()) AS size") else {
      throw DamagedRow(column: "size")
    }
    return try row.get("size")
  }

  /// Ends the transaction, which changed something, by these last calls and the commit.
  func commit(after last: PostgreSQLCall) throws {
    defer { unsent = [] }
    noteLock(try connection.commit(after: unsent + [last]))
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

  /// - Parameter answers: of the opening, and what was sent with it.
  private func noteLock(_ answers: [[PostgreSQLRow]]) {
    guard let lock, openingCount > 0, answers.count >= openingCount else { return }
    self.lock = nil
    if let waited = try? answers[openingCount - 1].first?.integer(0) { lock.note(.microseconds(waited)) }
  }

  private func send(_ call: PostgreSQLCall) throws -> [PostgreSQLRow] {
    let calls = unsent + [call]
    unsent = []
    let answers = try connection.ask(calls)
    noteLock(answers)
    return answers.last ?? []
  }
}

extension PostgreSQLValue {
  fileprivate var hasNUL: Bool { if case .text(let text) = self { text.utf8.contains(0) } else { false } }
}
