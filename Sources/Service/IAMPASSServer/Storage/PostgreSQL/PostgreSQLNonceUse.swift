import IAMPASSProtocol
import PostgreSQLLink

extension PostgreSQLStorage {
  /// Uses the nonce together with all others that wait by then, and reads afterwards.
  ///
  /// What is used is used for every server. A power cut of the database's machine may undo it, until the next
  /// ``write(_:)``.
  ///
  /// - Throws: ``StorageBusy`` if it had no turn in time. Then it is not used.
  func useNonce(_ nonceUse: NonceUse) async throws -> NonceUse.Outcome {
    try await withCheckedThrowingContinuation { continuation in
      if nonceUses.add(nonceUse, continuation) { askForTurn() }
    }
  }

  private func askForTurn() {
    // No client that goes away ends it.
    Task.detached { [self] in
      await useNonces(nonceUses.take())
      if nonceUses.endTurn() { askForTurn() }
    }
  }

  private func useNonces(_ waiters: [NonceUseQueue.Waiter]) async {
    guard !waiters.isEmpty else { return }
    do {
      let outcomes = try await pool.inThread(.nonceUse) { [seals] in
        try $0.useNonces(waiters.map(\.nonceUse), seals)
      }
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
  fileprivate func useNonces(_ nonceUses: [NonceUse], _ seals: Seals) throws
    -> [Result<NonceUse.Outcome, any Error>]
  {
    let areNew: [Result<Bool, any Error>]
    var seen: SeenAfterwards?
    do {
      let used = try useTogether(nonceUses, seals)
      areNew = used.areNew.map { .success($0) }
      seen = used.seen
    } catch let error as PostgreSQLError where error.isRefusal && nonceUses.count > 1 {
      areNew = nonceUses.map { one in Result { try useTogether([one], seals, isAlone: true).areNew[0] } }
    }
    let asked = SeenAfterwards.Asked(zip(nonceUses, areNew).filter { (try? $1.get()) == true }.map(\.0))
    // If each nonce had a transaction of its own, nothing was read with them.
    let found: Result<SeenAfterwards?, any Error> = Result {
      if let seen { return seen }
      guard !asked.isEmpty else { return nil }
      return try again { try SeenAfterwards(asked, in: PostgreSQLTransaction.view($0), seals) }
    }
    return zip(nonceUses, areNew).map { nonceUse, isNew in
      Result {
        var outcome = NonceUse.Outcome(isNew: try isNew.get(), moment: nil)
        guard outcome.isNew else { return outcome }
        if let session = nonceUse.session { outcome.moment = try found.get()?.moment(of: session) }
        if let signInClient = nonceUse.signInClient {
          outcome.signInClient = try found.get()?.signInClient(signInClient)
        }
        return outcome
      }
    }
  }

  /// - Parameter isAlone: nothing is read afterwards.
  /// - Returns: for each whether it is new. If two have one nonce, one of them is. And what is to be read afterwards,
  ///   unless something failed that can be asked again.
  private func useTogether(
    _ nonceUses: [NonceUse], _ seals: Seals, isAlone: Bool = false
  ) throws -> (areNew: [Bool], seen: SeenAfterwards?) {
    // A transaction waits for another one that uses the same nonce. All go in one order, so that no two wait for
    // each other.
    let order = nonceUses.indices.sorted {
      (nonceUses[$0].nonce.owner, nonceUses[$0].nonce.value, $0) < (
        nonceUses[$1].nonce.owner, nonceUses[$1].nonce.value, $1
      )
    }
    let calls = order.map { nonceUses[$0].call }
    let asked = SeenAfterwards.Asked(isAlone ? [] : nonceUses)
    let (answers, seen) = try lend { connection -> ([[PostgreSQLRow]], SeenAfterwards?) in
      guard !asked.isEmpty else { return (try connection.run(calls), nil) }
      let db = PostgreSQLTransaction(connection)
      let questions = db.collect { try SeenAfterwards.askAll(asked, in: $0, seals) }
      let used = try connection.run(calls, then: [PostgreSQLTransaction.viewing] + questions)
      guard let answers = used.answers else { return (used.rows, nil) }
      db.keep(Array(answers.dropFirst()), to: questions)
      return (used.rows, try? SeenAfterwards(asked, in: db, seals))
    }
    var areNew = [Bool](repeating: false, count: nonceUses.count)
    for (index, rows) in zip(order, answers) { areNew[index] = try rows.first?.get("spent") ?? false }
    return (areNew, seen)
  }
}

extension NonceUse {
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
    let signInClients: [String]

    init(_ nonceUses: [NonceUse]) {
      sessions = Set(nonceUses.compactMap(\.session)).sorted()
      signInClients = Set(nonceUses.compactMap(\.signInClient)).sorted()
    }

    var isEmpty: Bool { sessions.isEmpty && signInClients.isEmpty }
  }

  private let mark: ServiceMark
  private var sessions: [String: Result<SessionView, any Error>] = [:]
  private var signInClients: [String: Result<SignInClient, any Error>] = [:]

  /// - Parameter db: a view, which ends here.
  init(_ asked: Asked, in db: PostgreSQLTransaction, _ seals: Seals) throws {
    try db.prefetch { try Self.askAll(asked, in: $0, seals) }
    // An approval and a user's name are asked for once the session says that it is told of them.
    try db.prefetch { db in
      for id in asked.sessions {
        if let session = try? Session.find(id: id, in: db) { _ = try? SessionView(session, in: db) }
      }
    }
    mark = try HistoryMark.current(in: db)
    for id in asked.sessions {
      sessions[id] = try Self.result { try Session.find(id: id, in: db).map { try SessionView($0, in: db) } }
    }
    for id in asked.signInClients { signInClients[id] = try Self.result { try SignInClient.find(id, in: db, seals) } }
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

  static func askAll(_ asked: Asked, in db: PostgreSQLTransaction, _ seals: Seals) throws {
    for id in asked.sessions { _ = try Session.find(id: id, in: db) }
    try SignInClient.askAll(asked.signInClients, in: db, seals)
    _ = try HistoryMark.current(in: db)
  }

  func moment(of session: String) throws -> SessionMoment {
    SessionMoment(view: try sessions[session]?.get(), mark: mark)
  }

  func signInClient(_ id: String) throws -> SignInClient? { try signInClients[id]?.get() }
}
