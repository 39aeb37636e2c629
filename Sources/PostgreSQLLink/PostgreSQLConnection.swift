import CPostgreSQL
import Glibc

/// A connection to a PostgreSQL server, used by one thread at a time. Every wait has an end.
///
/// After `connectionLost`, `timedOut` or `commitUnanswered` the connection is closed for good.
public final class PostgreSQLConnection {
  /// Longer than the server's own statement_timeout of 5 s, which has a clearer answer.
  public static let answerLimit = Duration.seconds(7)

  private var connection: OpaquePointer?
  private var prepared: [PreparedName: String] = [:]

  /// Connects. The look-up of a host's name is the resolver's own wait, which resolv.conf bounds.
  ///
  /// - Parameter limit: for all hosts of the address together.
  /// - Throws: ``PostgreSQLError`` with `notConnected`.
  public init(to address: PostgreSQLAddress, within limit: Duration = .seconds(5)) throws(PostgreSQLError) {
    connection = Self.start(address.parameters)
    let end = ContinuousClock.now + limit
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

  deinit { PQfinish(connection) }

  /// Does the calls in one round trip, in order. They are one transaction of their own, unless ``transaction(_:)`` has
  /// begun one. The first that fails fails them all.
  ///
  /// - Returns: the rows of each call.
  /// - Throws: ``PostgreSQLError``. Outside of ``transaction(_:)`` a call that changes something is a commit: then it is
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

  /// Does `body` in a serializable transaction and commits it. If `body` throws, nothing is stored.
  ///
  /// A refusal with SQLSTATE 40001 or 40P01 says that another transaction came between: the caller repeats the whole
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

  /// Waits for a notification on a channel that a call of `LISTEN` has named.
  ///
  /// - Returns: the channel, or nil if none came within `limit`.
  public func notification(within limit: Duration) throws(PostgreSQLError) -> String? {
    let end = ContinuousClock.now + limit
    while true {
      guard connection != nil, PQconsumeInput(connection) == 1 else { throw lost(.connectionLost) }
      if let notify = PQnotifies(connection) {
        defer { PQfreemem(notify) }
        return String(cString: notify.pointee.relname)
      }
      guard wait(for: Int16(POLLIN), until: end) else { return nil }
    }
  }

  // MARK: - A transaction's end

  private func commit() throws(PostgreSQLError) {
    let tag: String
    do throws(PostgreSQLError) {
      tag = try answers(to: [PostgreSQLCall("COMMIT")])[0].tag
    } catch {
      throw Self.asCommit(error)
    }
    // COMMIT succeeds with the tag ROLLBACK if a statement before had failed and the body did not say so.
    guard tag == "COMMIT" else { throw PostgreSQLError(.rolledBack) }
  }

  private func rollBack() {
    guard connection != nil else { return }
    // A connection that cannot roll back is closed, and the server then rolls back.
    if (try? answers(to: [PostgreSQLCall("ROLLBACK")])) == nil { close() }
  }

  /// Some refusals say for sure that nothing was committed: rolled back (class 40, but for 40003), a constraint (23), and
  /// a statement that failed before (22, 25, 42 and 55). Others do not: a synchronous standby's commit may be cancelled
  /// (57014) when the primary has it already.
  private static func asCommit(_ error: PostgreSQLError) -> PostgreSQLError {
    switch error.code {
    case .connectionLost, .timedOut, .answerInvalid: return PostgreSQLError(.commitUnanswered, detail: error.detail)
    case .refused(let state):
      let sure = ["22", "23", "40", "42", "55", "25"].contains(String(state.prefix(2))) && state != "40003"
      return sure ? error : PostgreSQLError(.commitUnanswered, detail: error.detail)
    default: return error
    }
  }

  // MARK: - Calls

  private struct Answer {
    let rows: [PostgreSQLRow]
    let tag: String
  }

  /// What was sent, in order: each has one result.
  private enum Sent {
    case preparation(PreparedName, String)
    case call
  }

  private func answers(to calls: [PostgreSQLCall]) throws(PostgreSQLError) -> [Answer] {
    guard connection != nil else { throw PostgreSQLError(.connectionLost, detail: "closed before") }
    let end = ContinuousClock.now + Self.answerLimit
    guard PQenterPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
    var sent: [Sent] = []
    var names = prepared
    for call in calls {
      let name = names[call.preparedAs] ?? "s\(names.count)"
      if names.updateValue(name, forKey: call.preparedAs) == nil {
        guard PreparedCall.prepare(call, as: name, on: connection) else { throw lost(.connectionLost) }
        sent.append(.preparation(call.preparedAs, name))
      }
      guard PreparedCall.send(call, as: name, on: connection) else { throw lost(.connectionLost) }
      sent.append(.call)
    }
    guard PQpipelineSync(connection) == 1 else { throw lost(.connectionLost) }
    let answers = try results(of: sent, until: end)
    guard PQexitPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
    if let refusal = answers.refusal { throw refusal }
    return answers.answers
  }

  /// Reads all results up to the synchronization point, so that the next call begins with a clean connection.
  private func results(
    of sent: [Sent], until end: ContinuousClock.Instant
  ) throws(PostgreSQLError) -> (answers: [Answer], refusal: PostgreSQLError?) {
    var answers: [Answer] = []
    var refusal: PostgreSQLError?
    for one in sent {
      guard let result = try next(until: end) else { throw lost(.answerInvalid) }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
        switch one {
        case .preparation(let statement, let name): prepared[statement] = name
        case .call: answers.append(Answer(rows: PreparedCall.rows(of: result), tag: PreparedCall.tag(of: result)))
        }
      case PGRES_PIPELINE_ABORTED: break
      default: refusal = refusal ?? PreparedCall.refusal(of: result)
      }
      // Each call's results end by an empty one.
      guard try next(until: end) == nil else { throw lost(.answerInvalid) }
    }
    guard let last = try next(until: end) else { throw lost(.answerInvalid) }
    defer { PQclear(last) }
    guard PQresultStatus(last) == PGRES_PIPELINE_SYNC else { throw lost(.answerInvalid) }
    guard refusal != nil || answers.count == sent.count(where: { if case .call = $0 { true } else { false } }) else {
      throw lost(.answerInvalid)
    }
    return (answers, refusal)
  }

  /// The next result. Sends what is not sent yet, and reads meanwhile: otherwise both sides could wait for each other.
  private func next(until end: ContinuousClock.Instant) throws(PostgreSQLError) -> OpaquePointer? {
    while true {
      let unsent = PQflush(connection)
      guard unsent >= 0 else { throw lost(.connectionLost) }
      if unsent == 0, PQisBusy(connection) == 0 { break }
      let events = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
      guard wait(for: events, until: end) else { throw lost(.timedOut) }
      guard PQconsumeInput(connection) == 1 else { throw lost(.connectionLost) }
    }
    let result = PQgetResult(connection)
    guard PQstatus(connection) == CONNECTION_OK else {
      PQclear(result)
      throw lost(.connectionLost)
    }
    return result
  }
}

extension PostgreSQLConnection {
  private static func start(_ parameters: [String: String]) -> OpaquePointer? {
    let names = parameters.keys.map { strdup($0) }
    let values = parameters.keys.map { strdup(parameters[$0] ?? "") }
    defer { for text in names + values { free(text) } }
    // SAFETY: both lists end by nil, and libpq copies what it keeps.
    let connection = PQconnectStartParams(
      names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
    // Otherwise libpq prints what the server remarks.
    _ = PQsetNoticeReceiver(connection, { _, _ in }, nil)
    return connection
  }

  /// Whether the socket has one of the events before `end`.
  private func wait(for events: Int16, until end: ContinuousClock.Instant) -> Bool {
    while PQsocket(connection) >= 0 {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return false }
      var socket = pollfd(fd: PQsocket(connection), events: events, revents: 0)
      let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
      let ready = poll(&socket, 1, Int32(clamping: milliseconds))
      if ready > 0 { return true }
      guard ready == 0 || errno == EINTR else { return false }
    }
    return false
  }

  private var message: String { connection.map { String(cString: PQerrorMessage($0)) } ?? "out of memory" }

  private func notConnected(or what: String) -> PostgreSQLError {
    let said = message
    close()
    return PostgreSQLError(.notConnected, detail: said.isEmpty ? what : said)
  }

  /// The error of a connection that is of no use from now on.
  private func lost(_ code: PostgreSQLError.Code) -> PostgreSQLError {
    let error = PostgreSQLError(code, detail: message)
    close()
    return error
  }

  /// PQfinish takes no nil twice: the pointer is dropped with the connection.
  private func close() {
    PQfinish(connection)
    connection = nil
  }
}
