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
  /// One transaction, and another one that reads. If a statement of the first is refused, each nonce has a transaction of
  /// its own: what one request sent must not fail the others.
  fileprivate func spend(_ spendings: [Spending]) throws -> [Result<Spending.Outcome, any Error>] {
    let areNew: [Result<Bool, any Error>]
    do {
      areNew = try spendTogether(spendings).map { .success($0) }
    } catch let error as PostgreSQLError where error.isRefusal && spendings.count > 1 {
      areNew = spendings.map { one in Result { try spendTogether([one])[0] } }
    }
    let asked = zip(spendings, areNew).filter { (try? $1.get()) == true }.compactMap(\.0.session)
    let told = Result { asked.isEmpty ? nil : try again { try ToldSessions(Set(asked).sorted(), in: $0) } }
    return zip(spendings, areNew).map { spending, isNew in
      Result {
        guard try isNew.get(), let session = spending.session else {
          return Spending.Outcome(isNew: try isNew.get(), moment: nil)
        }
        return Spending.Outcome(isNew: true, moment: try told.get()?.moment(of: session))
      }
    }
  }

  /// - Returns: for each whether it is new. If two have one nonce, one of them is.
  private func spendTogether(_ spendings: [Spending]) throws -> [Bool] {
    // A transaction waits for another one that spends the same nonce. All go in one order, so that no two wait for
    // each other.
    let order = spendings.indices.sorted {
      (spendings[$0].nonce.owner, spendings[$0].nonce.value, $0) < (
        spendings[$1].nonce.owner, spendings[$1].nonce.value, $1
      )
    }
    let answers = try lend { try $0.run(order.map { spendings[$0].call }) }
    var areNew = [Bool](repeating: false, count: spendings.count)
    for (index, rows) in zip(order, answers) { areNew[index] = try rows.first?.get("spent") ?? false }
    return areNew
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

/// Sessions as their clients may be told of them, from one consistent view.
private struct ToldSessions {
  private let mark: ServiceMark
  private let sessions: [String: Result<ToldSession, any Error>]

  init(_ ids: [String], in connection: PostgreSQLConnection) throws {
    let db = PostgreSQLWork(
      connection, opening: [PostgreSQLCall("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")])
    let rows = try db.firsts("SELECT * FROM session WHERE id = $1", each: ids.map(PostgreSQLValue.text))
    mark = try HistoryMark.current(in: db)
    var sessions: [String: Result<ToldSession, any Error>] = [:]
    for case (let id, let row?) in zip(ids, rows) {
      do { sessions[id] = .success(try ToldSession(Session(row: row), in: db)) } catch let error as PostgreSQLError {
        throw error
      } catch {
        // A damaged row fails its own client's request alone.
        sessions[id] = .failure(error)
      }
    }
    self.sessions = sessions
    try db.end()
  }

  func moment(of session: String) throws -> SessionMoment {
    SessionMoment(told: try sessions[session]?.get(), mark: mark)
  }
}
