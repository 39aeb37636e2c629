import IAMPASSProtocol
import PostgreSQLLink

extension PostgreSQLStorage {
  /// Spends the nonce together with all others that wait by then, and reads afterwards.
  ///
  /// What is spent is spent for every server. A power cut of the database's machine may undo it, until the next
  /// ``write(_:)``.
  ///
  /// - Throws: ``StorageBusy`` if it had no turn in time. Then it is not spent.
  func spend(_ spending: Spending) async throws -> Spending.Outcome {
    try await withCheckedThrowingContinuation { continuation in
      if spendings.add(spending, continuation) { askForTurn() }
    }
  }

  private func askForTurn() {
    // No client that goes away ends it.
    Task.detached { [self] in
      await spend(spendings.take())
      if spendings.endTurn() { askForTurn() }
    }
  }

  private func spend(_ waiters: [WaitingSpendings.Waiter]) async {
    guard !waiters.isEmpty else { return }
    do {
      let outcomes = try await pool.inThread(.spending) { try $0.spend(waiters.map(\.spending)) }
      alarm.wrote()
      for (waiter, outcome) in zip(waiters, outcomes) { waiter.resume(outcome) }
    } catch {
      for waiter in waiters { waiter.resume(.failure(error)) }
    }
  }
}

extension PostgreSQLPool {
  /// One transaction, and another one that reads, in one round trip. If a statement of the first is refused, each nonce
  /// has a transaction of its own: what one request sent must not fail the others.
  fileprivate func spend(_ spendings: [Spending]) throws -> [Result<Spending.Outcome, any Error>] {
    let areNew: [Result<Bool, any Error>]
    var seen: SeenAfterwards?
    do {
      let spent = try spendTogether(spendings)
      areNew = spent.areNew.map { .success($0) }
      seen = spent.seen
    } catch let error as PostgreSQLError where error.isRefusal && spendings.count > 1 {
      areNew = spendings.map { one in Result { try spendTogether([one], isAlone: true).areNew[0] } }
    }
    let asked = SeenAfterwards.Asked(zip(spendings, areNew).filter { (try? $1.get()) == true }.map(\.0))
    let found = Result {
      try asked.isEmpty ? nil : seen ?? again { try SeenAfterwards(asked, in: PostgreSQLWork.view($0)) }
    }
    return zip(spendings, areNew).map { spending, isNew in
      Result {
        var outcome = Spending.Outcome(isNew: try isNew.get(), moment: nil)
        guard outcome.isNew else { return outcome }
        if let session = spending.session { outcome.moment = try found.get()?.moment(of: session) }
        if let starter = spending.starter { outcome.starter = try found.get()?.starter(starter) }
        return outcome
      }
    }
  }

  /// - Parameter isAlone: nothing is read afterwards.
  /// - Returns: for each whether it is new. If two have one nonce, one of them is. And what is to be read afterwards,
  ///   unless something failed that can be asked again.
  private func spendTogether(
    _ spendings: [Spending], isAlone: Bool = false
  ) throws -> (areNew: [Bool], seen: SeenAfterwards?) {
    // A transaction waits for another one that spends the same nonce. All go in one order, so that no two wait for
    // each other.
    let order = spendings.indices.sorted {
      (spendings[$0].nonce.owner, spendings[$0].nonce.value, $0) < (
        spendings[$1].nonce.owner, spendings[$1].nonce.value, $1
      )
    }
    let calls = order.map { spendings[$0].call }
    let asked = SeenAfterwards.Asked(isAlone ? [] : spendings)
    let (answers, seen) = try lend { connection -> ([[PostgreSQLRow]], SeenAfterwards?) in
      guard !asked.isEmpty else { return (try connection.run(calls), nil) }
      let db = PostgreSQLWork(connection)
      let questions = db.collect { try SeenAfterwards.askAll(asked, in: $0) }
      let spent = try connection.run(calls, then: [PostgreSQLWork.viewing] + questions)
      guard let answers = spent.answers else { return (spent.rows, nil) }
      db.keep(Array(answers.dropFirst()), to: questions)
      return (spent.rows, try? SeenAfterwards(asked, in: db))
    }
    var areNew = [Bool](repeating: false, count: spendings.count)
    for (index, rows) in zip(order, answers) { areNew[index] = try rows.first?.get("spent") ?? false }
    return (areNew, seen)
  }
}

extension Spending {
  /// ``PostgreSQLMigration/marks`` has the function.
  fileprivate var call: PostgreSQLCall {
    PostgreSQLCall(
      "SELECT spend_nonce($1, $2, $3, $4, $5, $6) AS spent", .text(nonce.owner), .text(nonce.value),
      .integer(nonce.forgetAt.milliseconds), .integer(now.milliseconds),
      nonce.credential.map(PostgreSQLValue.text) ?? .null, .integer(HostCredential.useInterval * 1_000))
  }
}

extension PostgreSQLError {
  /// Whether the server did not do it, and another one may yet be done: a lock would keep all waiting in turn.
  fileprivate var isRefusal: Bool {
    if case .refused = code { StorageTrouble(self) != .locked } else { false }
  }
}

/// What was asked for with nonces, from one consistent view: sessions as their clients may be told of them, and who signed.
private struct SeenAfterwards {
  /// Ids, each once.
  struct Asked {
    let sessions: [String]
    let starters: [String]

    init(_ spendings: [Spending]) {
      sessions = Set(spendings.compactMap(\.session)).sorted()
      starters = Set(spendings.compactMap(\.starter)).sorted()
    }

    var isEmpty: Bool { sessions.isEmpty && starters.isEmpty }
  }

  private let mark: ServiceMark
  private var sessions: [String: Result<ToldSession, any Error>] = [:]
  private var starters: [String: Result<Starter, any Error>] = [:]

  /// - Parameter db: a view, which ends here.
  init(_ asked: Asked, in db: PostgreSQLWork) throws {
    try db.ahead { try Self.askAll(asked, in: $0) }
    // An approval and a user's name are asked for once the session says that it is told of them.
    try db.ahead { db in
      for id in asked.sessions {
        if let session = try? Session.find(id: id, in: db) { _ = try? ToldSession(session, in: db) }
      }
    }
    mark = try HistoryMark.current(in: db)
    for id in asked.sessions {
      sessions[id] = try Self.result { try Session.find(id: id, in: db).map { try ToldSession($0, in: db) } }
    }
    for id in asked.starters { starters[id] = try Self.result { try Starter.find(id, in: db) } }
    db.leave()
  }

  /// A damaged row fails its own client's request alone.
  ///
  /// - Returns: nil if there is no such row.
  private static func result<Value>(_ find: () throws -> Value?) throws -> Result<Value, any Error>? {
    do { return try find().map { .success($0) } } catch let error as PostgreSQLError { throw error } catch {
      return .failure(error)
    }
  }

  static func askAll(_ asked: Asked, in db: PostgreSQLWork) throws {
    for id in asked.sessions { _ = try Session.find(id: id, in: db) }
    for id in asked.starters { _ = try Starter.find(id, in: db) }
    _ = try HistoryMark.current(in: db)
  }

  func moment(of session: String) throws -> SessionMoment {
    SessionMoment(told: try sessions[session]?.get(), mark: mark)
  }

  func starter(_ id: String) throws -> Starter? { try starters[id]?.get() }
}
