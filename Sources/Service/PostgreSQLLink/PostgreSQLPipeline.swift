import CPostgreSQL
import Glibc

// Calls in libpq's pipeline mode.
extension PostgreSQLConnection {
  /// The rows of a call, and its command tag.
  struct Answer {
    let rows: [PostgreSQLRow]
    let tag: String
  }

  /// The sent calls in order. Each has one result.
  enum Sent {
    case preparation(PreparedName, String)
    case call
  }

  /// Does the calls in one round trip.
  func answers(to calls: [PostgreSQLCall]) throws(PostgreSQLError) -> [Answer] {
    let (answers, refusal) = try exchange(calls)
    if let refusal { throw refusal }
    return answers
  }

  /// The same, with the answers to the calls before the one that was refused.
  func exchange(
    _ calls: [PostgreSQLCall]
  ) throws(PostgreSQLError) -> (answers: [Answer], refusal: PostgreSQLError?) {
    guard connection != nil else { throw PostgreSQLError(.connectionLost, detail: "closed before") }
    roundTrips += 1
    let end = ContinuousClock.now + patience
    guard PQenterPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
    let sent = try send(calls)
    // Owed answers come before those of the new calls.
    try readOwed(until: end)
    let answers = try results(of: sent, until: end)
    guard PQexitPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
    // The next connection is made to a server that takes writes.
    if answers.refusal?.isReadOnly == true { close() }
    return answers
  }

  /// In one round trip, does the calls as their own transaction, and then asks the questions.
  ///
  /// - Returns: the rows of each call, or its refusal; and of each question, if all of them were answered. They may have
  ///   begun a transaction in any case.
  func exchange(
    _ calls: [PostgreSQLCall], then questions: [PostgreSQLCall]
  ) throws(PostgreSQLError) -> (answers: [Answer], refusal: PostgreSQLError?, next: [Answer]?) {
    guard connection != nil else { throw PostgreSQLError(.connectionLost, detail: "closed before") }
    roundTrips += 1
    let end = ContinuousClock.now + patience
    guard PQenterPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
    let sent = try send(calls)
    let sentNext = try send(questions, after: sent)
    try readOwed(until: end)
    let done = try results(of: sent, until: end)
    // The result of the calls is known, even if the connection ends here.
    let asked = try? results(of: sentNext, until: end)
    if connection != nil, PQexitPipelineMode(connection) != 1 { close() }
    if done.refusal?.isReadOnly == true { close() }
    let next = asked.flatMap { $0.refusal == nil ? $0.answers : nil }
    return (done.answers, done.refusal, next)
  }

  /// Ends a transaction that has only read, without waiting for the answer, which the next call on this connection
  /// reads. The caller already has all its answers from one consistent view.
  public func leave() {
    guard isInTransaction else { return }
    guard PQenterPipelineMode(connection) == 1, let sent = try? send([PostgreSQLCall("COMMIT")]) else { return close() }
    owed = sent
    // Otherwise the server would keep the view until the next call. There is room for this short message, unless the
    // connection is broken.
    if PQflush(connection) != 0 { close() }
  }

  /// Reads owed answers, before calls that are not in pipeline mode.
  func settle(until end: ContinuousClock.Instant) throws(PostgreSQLError) {
    guard !owed.isEmpty else { return }
    try readOwed(until: end)
    guard PQexitPipelineMode(connection) == 1 else { throw lost(.connectionLost) }
  }

  private func readOwed(until end: ContinuousClock.Instant) throws(PostgreSQLError) {
    guard !owed.isEmpty else { return }
    // The transaction has ended even if the server refused the call.
    _ = try results(of: owed, until: end)
    owed = []
  }

  /// - Parameter before: calls that were sent before and not answered yet.
  private func send(_ calls: [PostgreSQLCall], after before: [Sent] = []) throws(PostgreSQLError) -> [Sent] {
    var sent: [Sent] = []
    var names = prepared
    for case .preparation(let statement, let name) in owed + before { names[statement] = name }
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
    return sent
  }

  /// Reads all results up to the synchronization point, so that the next call begins with a clean connection.
  private func results(
    of sent: [Sent], until end: ContinuousClock.Instant
  ) throws(PostgreSQLError) -> (answers: [Answer], refusal: PostgreSQLError?) {
    var answers: [Answer] = []
    var refusal: PostgreSQLError?
    for one in sent {
      guard let result = try next(until: end) else { throw outOfOrder() }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
        switch one {
        case .preparation(let statement, let name): prepared[statement] = name
        case .call: answers.append(Answer(rows: PreparedCall.rows(of: result), tag: PreparedCall.tag(of: result)))
        }
      case PGRES_PIPELINE_ABORTED: break
      default:
        let said = PreparedCall.refusal(of: result)
        // libpq says so itself, before it has read that the server has closed; no other results follow.
        if said.code == .connectionLost { throw lost(said) }
        refusal = refusal ?? said
      }
      // Each call's results end by an empty one.
      guard try next(until: end) == nil else { throw outOfOrder() }
    }
    guard let last = try next(until: end) else { throw outOfOrder() }
    defer { PQclear(last) }
    guard PQresultStatus(last) == PGRES_PIPELINE_SYNC else { throw outOfOrder() }
    guard refusal != nil || answers.count == sent.count(where: { if case .call = $0 { true } else { false } }) else {
      throw outOfOrder()
    }
    return (answers, refusal)
  }

  /// The next result. Sends and reads at the same time: otherwise both sides could wait for each other.
  func next(until end: ContinuousClock.Instant) throws(PostgreSQLError) -> OpaquePointer? {
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

  /// The same as ``run(_:)`` for a script from the source.
  public func run(script: StaticString) throws(PostgreSQLError) { try run(PostgreSQLScript(script)) }

  /// Runs a script of several statements without parameters, in the transaction that has begun.
  ///
  /// - Throws: ``PostgreSQLError``, never `commitUnanswered`. The caller rolls back.
  public func run(_ script: PostgreSQLScript) throws(PostgreSQLError) {
    guard connection != nil else { throw PostgreSQLError(.connectionLost, detail: "closed before") }
    let end = ContinuousClock.now + patience
    try settle(until: end)
    guard PQsendQuery(connection, script.sql) == 1 else { throw lost(.connectionLost) }
    var refusal: PostgreSQLError?
    while let result = try next(until: end) {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
      default: refusal = refusal ?? PreparedCall.refusal(of: result)
      }
    }
    if let refusal { throw refusal }
  }
}
