import CPostgreSQL
import Glibc

/// A connection to a PostgreSQL server, used by one thread at a time. Every wait has an end.
///
/// After `connectionLost`, `timedOut` or `commitUnanswered` the connection is closed for good.
public final class PostgreSQLConnection {
  /// Longer than the server's own statement_timeout of 5 s, which has a clearer answer.
  public static let answerLimit = Duration.seconds(7)

  /// How long an answer may take: ``answerLimit``, or longer while much is copied.
  public var patience = answerLimit

  var connection: OpaquePointer?
  /// The names of the statements that the server has prepared for this connection.
  var prepared: [PreparedName: String] = [:]

  /// Calls that ``leave()`` has sent and whose answers were not read yet.
  var owed: [Sent] = []
  /// How often a caller waited for the server's answers.
  public internal(set) var roundTrips = 0

  /// Whether the connection can still be used.
  public var isOpen: Bool { connection != nil }

  /// Whether the server has not closed the connection, as far as is known. Does not wait.
  public var isAlive: Bool {
    connection != nil && PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK
  }

  /// Whether a transaction has begun, even if it has failed. A transaction that was left has ended.
  public var isInTransaction: Bool {
    connection != nil && owed.isEmpty && PQtransactionStatus(connection) != PQTRANS_IDLE
  }

  /// Connects to the first host of the address that answers and is what `target_session_attrs` asks for.
  ///
  /// - Parameters:
  ///   - limit: for all hosts together; each has an equal share of what is left. The look-up of a name comes on top.
  ///   - last: the host that is tried first, and that becomes the one that answered.
  /// - Throws: ``PostgreSQLError`` with `notConnected`, and what each host said; `refused` if a session cannot be bounded.
  public init(
    to address: PostgreSQLAddress, within limit: Duration = .seconds(5), last: LastHost? = nil
  ) throws(PostgreSQLError) {
    let found = address.hosts(last: last)
    let hosts = last?.first(of: found) ?? found
    let end = ContinuousClock.now + limit
    var refusals: [String] = []
    for (index, host) in hosts.enumerated() {
      let share = ContinuousClock.now.duration(to: end) / (hosts.count - index)
      do throws(PostgreSQLError) {
        let hostEnd = ContinuousClock.now + share
        try connect(to: host.replacing(address.parameters), until: hostEnd)
        try setBounds(until: hostEnd)
        last?.keep(host)
        return
      } catch {
        close()
        // Other hosts would refuse the same.
        if case .refused = error.code { throw error }
        if !refusals.contains(error.detail) { refusals.append(error.detail) }
      }
    }
    throw PostgreSQLError(.notConnected, detail: refusals.joined(separator: "; "))
  }

  private func connect(
    to parameters: [String: String], until end: ContinuousClock.Instant
  ) throws(PostgreSQLError) {
    connection = Self.start(parameters)
    // Each step of the handshake asks for the event that it waits for; the first is the socket's readiness to write.
    var events = Int16(POLLOUT)
    while true {
      guard wait(for: events, until: end) else { throw notConnected(or: "no answer in time") }
      switch PQconnectPoll(connection) {
      case PGRES_POLLING_OK:
        guard PQsetnonblocking(connection, 1) == 0 else { throw notConnected(or: "not made non-blocking") }
        return
      case PGRES_POLLING_READING: events = Int16(POLLIN)
      case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
      default: throw notConnected(or: "failed")
      }
    }
  }

  private func setBounds(until end: ContinuousClock.Instant) throws(PostgreSQLError) {
    patience = ContinuousClock.now.duration(to: end)
    defer { patience = Self.answerLimit }
    _ = try answers(to: PostgreSQLBounds.calls)
  }

  deinit { PQfinish(connection) }

  /// Does the calls in one round trip, in order. They are one transaction of their own, unless one has begun. The first
  /// that fails fails them all.
  ///
  /// - Returns: the rows of each call.
  /// - Throws: ``PostgreSQLError``. Outside of a transaction a call that changes something is a commit: then it is
  ///   `commitUnanswered` if no answer came.
  @discardableResult
  public func run(_ calls: [PostgreSQLCall]) throws(PostgreSQLError) -> [[PostgreSQLRow]] {
    let committing = PQtransactionStatus(connection) != PQTRANS_INTRANS
    do throws(PostgreSQLError) {
      return try answers(to: calls).map(\.rows)
    } catch {
      throw committing ? Self.asCommit(error) : error
    }
  }

  /// In one round trip, does the calls as their own transaction, and then asks the questions, which begin a
  /// transaction.
  ///
  /// - Returns: the rows of each call; and of each question, or nil if these were not answered.
  /// - Throws: ``PostgreSQLError`` of the calls, as ``run(_:)``.
  public func run(
    _ calls: [PostgreSQLCall], then questions: [PostgreSQLCall]
  ) throws(PostgreSQLError) -> (rows: [[PostgreSQLRow]], answers: [[PostgreSQLRow]]?) {
    let outcome: (answers: [Answer], refusal: PostgreSQLError?, next: [Answer]?)
    do throws(PostgreSQLError) {
      outcome = try exchange(calls, then: questions)
    } catch {
      throw Self.asCommit(error)
    }
    if outcome.refusal != nil || outcome.next == nil { rollBack() }
    if let refusal = outcome.refusal { throw Self.asCommit(refusal) }
    return (outcome.answers.map(\.rows), outcome.next?.map(\.rows))
  }

  /// The same as ``run(_:)`` for calls that do not commit. They read, or belong to a transaction that they begin or
  /// that has begun.
  ///
  /// - Throws: ``PostgreSQLError``, never `commitUnanswered`. The caller rolls back.
  public func ask(_ calls: [PostgreSQLCall]) throws(PostgreSQLError) -> [[PostgreSQLRow]] {
    try answers(to: calls).map(\.rows)
  }

  /// Does the last calls of a transaction and commits it, in one round trip.
  ///
  /// - Returns: the rows of each of the calls.
  /// - Throws: ``PostgreSQLError``. After `commitUnanswered` the caller asks the database whether it happened; after any
  ///   other error nothing was committed.
  @discardableResult
  public func commit(after calls: [PostgreSQLCall] = []) throws(PostgreSQLError) -> [[PostgreSQLRow]] {
    let outcome: (answers: [Answer], refusal: PostgreSQLError?)
    do throws(PostgreSQLError) {
      outcome = try exchange(calls + [PostgreSQLCall("COMMIT")])
    } catch {
      throw Self.asCommit(error)
    }
    if let refusal = outcome.refusal {
      rollBack()
      // The server skips all calls after a refused one, so it did not commit.
      throw outcome.answers.count < calls.count ? refusal : Self.asCommit(refusal)
    }
    let tag = outcome.answers.last?.tag
    // COMMIT succeeds with the tag ROLLBACK if an earlier statement failed and the caller ignored it.
    guard tag == "COMMIT" else { throw PostgreSQLError(.rolledBack) }
    return outcome.answers.dropLast().map(\.rows)
  }

  /// Ends the transaction, if there is one, without its changes.
  public func rollBack() {
    guard isInTransaction else { return }
    // A connection that cannot roll back is closed, and the server then rolls back.
    if (try? answers(to: [PostgreSQLCall("ROLLBACK")])) == nil { close() }
  }

  /// Runs `body` in a serializable transaction and commits it. If `body` throws, nothing is stored.
  ///
  /// A refusal with SQLSTATE 40001 or 40P01 means a conflict with another transaction: the caller repeats all of it
  /// (PostgreSQL's manual, 13.5). After `commitUnanswered` the caller asks the database whether it happened.
  public func transaction<Value>(
    _ body: (PostgreSQLConnection) throws(PostgreSQLError) -> Value
  ) throws(PostgreSQLError) -> Value {
    _ = try answers(to: [PostgreSQLCall("BEGIN ISOLATION LEVEL SERIALIZABLE")])
    let value: Value
    do throws(PostgreSQLError) {
      value = try body(self)
    } catch {
      rollBack()
      throw error
    }
    try commit()
    return value
  }

  /// Some refusals prove that nothing was committed (PostgreSQL's manual, appendix A). Class 40 means that the
  /// transaction was rolled back, except for 40003, which means that the result is unknown. A statement before the
  /// commit failed if the class is 22 (data), 23 (a constraint), 25 (the transaction's state), 42 (SQL or rights) or 55
  /// (a lock). It also failed with 53100, no room for a row: without room for the commit's own record the server ends.
  /// Every other refusal counts as no answer: a commit that waits for a standby may be cancelled (57014) although the
  /// primary already has it.
  private static func asCommit(_ error: PostgreSQLError) -> PostgreSQLError {
    switch error.code {
    case .connectionLost, .timedOut, .answerInvalid: return PostgreSQLError(.commitUnanswered, detail: error.detail)
    case .refused(let state):
      let isSure = ["22", "23", "25", "40", "42", "55"].contains(String(state.prefix(2))) || state == "53100"
      return isSure && state != "40003" ? error : PostgreSQLError(.commitUnanswered, detail: error.detail)
    default: return error
    }
  }

  // MARK: - The end of the connection

  private var message: String { connection.map { String(cString: PQerrorMessage($0)) } ?? "out of memory" }

  private func notConnected(or what: String) -> PostgreSQLError {
    let host = [PQhost(connection), PQport(connection)].compactMap { $0.map { String(cString: $0) } }
    let said = message
    close()
    return PostgreSQLError(.notConnected, detail: said.isEmpty ? "\(host.joined(separator: ":")): \(what)" : said)
  }

  /// Closes the connection, and returns the error for it.
  func lost(_ code: PostgreSQLError.Code) -> PostgreSQLError { lost(PostgreSQLError(code, detail: message)) }

  /// Closes the connection, and returns the error.
  func lost(_ error: PostgreSQLError) -> PostgreSQLError {
    close()
    return error
  }

  /// Closes the connection after results in an order that cannot be: they end early if the server has gone.
  func outOfOrder() -> PostgreSQLError { lost(isAlive ? .answerInvalid : .connectionLost) }

  /// Closes the connection for good. It cannot be used afterwards.
  public func close() {
    // PQfinish must not be called twice, so the pointer is dropped here.
    PQfinish(connection)
    connection = nil
    owed = []
  }
}
