import PostgreSQLLink

/// The statements of an operation in its one transaction.
///
/// A change that returns nothing is sent with the next question, or with the commit, and questions are asked together
/// by ``prefetch(_:)``: most operations take two round trips. A refused statement fails the whole transaction.
public final class PostgreSQLTransaction: StorageTransaction {
  private let connection: PostgreSQLConnection
  private var unsent: [PostgreSQLCall]
  /// Whether there is a change to commit.
  private(set) var hasChanged = false
  /// Counts the duration of the opening; nil once it was counted.
  private var lock: Histogram?
  private let openingCount: Int
  /// The questions of ``prefetch(_:)`` while they are collected.
  private var collected: [PostgreSQLCall]?
  /// What is told the rows of the change that goes with the commit, and its place among the unsent calls.
  private var lastChange: (place: Int, told: ([PostgreSQLRow]) -> Void)?
  /// The answers of ``prefetch(_:)`` since the last change.
  private var answers: [PostgreSQLCall: [PostgreSQLRow]] = [:]

  /// - Parameters:
  ///   - opening: the calls that begin the transaction. They are sent with the first question.
  ///   - lock: counts how long the opening waited for locks. Its last call asks for these microseconds.
  init(_ connection: PostgreSQLConnection, opening: [PostgreSQLCall] = [], lock: Histogram? = nil) {
    self.connection = connection
    self.lock = lock
    unsent = opening
    openingCount = opening.count
  }

  /// Begins a read-only transaction with one consistent view.
  static let viewing = PostgreSQLCall("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

  /// One consistent view, which ends by ``leave()``.
  static func view(_ connection: PostgreSQLConnection) -> PostgreSQLTransaction {
    PostgreSQLTransaction(connection, opening: [viewing])
  }

  public func all(_ sql: StaticString, _ values: any StorableValue...) throws -> [PostgreSQLRow] {
    try ask(sql, values.map(PostgreSQLValue.init))
  }

  public func first(_ sql: StaticString, _ values: any StorableValue...) throws -> PostgreSQLRow? {
    try ask(sql, values.map(PostgreSQLValue.init)).first
  }

  public func has(_ sql: StaticString, _ values: any StorableValue...) throws -> Bool {
    try !ask(sql, values.map(PostgreSQLValue.init)).isEmpty
  }

  public func text(_ sql: StaticString, _ values: any StorableValue...) throws -> String? {
    try ask(sql, values.map(PostgreSQLValue.init)).first?.text(0)
  }

  public func execute(_ sql: StaticString, _ values: any StorableValue...) throws {
    try add(sql, values)
    answers = [:]
  }

  public func executeKeepingPrefetched(_ sql: StaticString, _ values: any StorableValue...) throws {
    try add(sql, values)
  }

  public func change(_ sql: StaticString, _ values: any StorableValue...) throws -> [PostgreSQLRow] {
    try requireOpen()
    answers = [:]
    let rows = try send(PostgreSQLCall(sql, values.map(PostgreSQLValue.init)))
    if !rows.isEmpty { hasChanged = true }
    return rows
  }

  /// A change that is sent with the commit, so that nothing waits for its answer while the lock is held. It is the
  /// transaction's last call.
  ///
  /// - Parameter told: gets the rows that it returned, once they are committed. If that is not known, it gets none.
  func changeWithCommit(
    _ sql: StaticString, _ values: [any StorableValue], told: @escaping ([PostgreSQLRow]) -> Void
  ) throws {
    try add(sql, values)
    lastChange = (unsent.count - 1, told)
  }

  public func prefetch(_ questions: (PostgreSQLTransaction) throws -> Void) throws {
    // One list within another is part of it.
    guard collected == nil else { return try questions(self) }
    let calls = collect(questions)
    guard !calls.isEmpty else { return }
    keep(try send(calls), to: calls)
  }

  /// Those of these questions that are not answered yet, each once.
  ///
  /// The questions run with empty answers, only to be noted: while ``collected`` is not nil, nothing is sent.
  func collect(_ questions: (PostgreSQLTransaction) throws -> Void) -> [PostgreSQLCall] {
    collected = []
    // A question that fails without answers is asked again once they are known.
    try? questions(self)
    var known = Set(answers.keys)
    defer { collected = nil }
    return (collected ?? []).filter { known.insert($0).inserted }
  }

  /// - Parameter rows: the rows of each of these questions, as this transaction sees them.
  func keep(_ rows: [[PostgreSQLRow]], to calls: [PostgreSQLCall]) {
    for (call, rows) in zip(calls, rows) { answers[call] = rows }
  }

  public func lock(_ sql: StaticString) throws { try execute(sql) }

  public func size() throws -> Int64 {
    guard let row = try first("SELECT pg_database_size(current_database()) AS size") else {
      throw DamagedRow(column: "size")
    }
    return try row.get("size")
  }

  /// Ends a transaction with changes, by this last call and the commit.
  func commit(after last: PostgreSQLCall) throws {
    defer { unsent = [] }
    let answers = try connection.commit(after: unsent + [last])
    noteLock(answers)
    if let lastChange { lastChange.told(answers[lastChange.place]) }
  }

  /// Ends a transaction without changes. It may still fail, if its reads conflict with other transactions.
  func end() throws {
    // No question was asked, so there is no transaction.
    guard connection.isInTransaction else { return }
    _ = try send(PostgreSQLCall("COMMIT"))
  }

  /// Ends a read-only transaction of one view, which cannot fail.
  func leave() { connection.leave() }

  private func add(_ sql: StaticString, _ values: [any StorableValue]) throws {
    try requireOpen()
    hasChanged = true
    unsent.append(PostgreSQLCall(sql, values.map(PostgreSQLValue.init)))
  }

  /// A list of questions must not make changes: they would be made twice.
  private func requireOpen() throws { if collected != nil { throw ChangeInPrefetch() } }

  private func ask(_ sql: StaticString, _ values: [PostgreSQLValue]) throws -> [PostgreSQLRow] {
    // Questions compare texts only for equality, and PostgreSQL's texts have no NUL, so no row can match.
    guard !values.contains(where: \.hasNUL) else { return [] }
    let call = PostgreSQLCall(sql, values)
    if let known = answers[call] { return known }
    if collected?.append(call) != nil { return [] }
    return try send(call)
  }

  /// - Parameter answers: the answers of the opening, and of the calls sent with it.
  private func noteLock(_ answers: [[PostgreSQLRow]]) {
    guard let lock, openingCount > 0, answers.count >= openingCount else { return }
    self.lock = nil
    if let waited = try? answers[openingCount - 1].first?.integer(0) { lock.note(.microseconds(waited)) }
  }

  private func send(_ call: PostgreSQLCall) throws -> [PostgreSQLRow] { try send([call])[0] }

  /// - Returns: the rows of each of these calls.
  private func send(_ calls: [PostgreSQLCall]) throws -> [[PostgreSQLRow]] {
    let all = unsent + calls
    unsent = []
    let answers = try connection.ask(all)
    noteLock(answers)
    return answers.suffix(calls.count)
  }

  private struct ChangeInPrefetch: Error {}
}

extension PostgreSQLValue {
  fileprivate var hasNUL: Bool { if case .text(let text) = self { text.utf8.contains(0) } else { false } }
}
