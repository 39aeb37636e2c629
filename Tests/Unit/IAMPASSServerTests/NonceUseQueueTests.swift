import GRDB
import Glibc
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// Both engines use nonces that wait together in one transaction.
@Suite(.serialized) struct NonceUseQueueTests {
  private func nonceUse(_ value: String, telling session: String? = nil, in room: StorageFixture) -> NonceUse {
    let now = room.now
    return NonceUse(
      nonce: SignedNonce(
        owner: "a", value: value, forgetAt: now.advanced(seconds: SignedNonce.lifetime)),
      now: now, session: session)
  }

  @Test(arguments: StorageEngine.allCases)
  func aDamagedRowFailsItsOwnRequestAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let spender = try Spender(room)
    let phone = try await room.phone()
    let sound = try await room.approved(by: phone)
    let damaged = try await room.approved(by: phone, host: "web-2")
    try await spender.damage(damaged.id)
    let results = try await spender.together([
      nonceUse("1", in: room), nonceUse("2", telling: damaged.id, in: room), nonceUse("3", telling: sound.id, in: room),
    ])
    #expect(try results[0].get().isNew)
    #expect(throws: (any Error).self) { try results[1].get() }
    #expect(try results[2].get().moment?.view?.session.id == sound.id)
    #expect(try await !spender.useNonce(nonceUse("1", in: room)).isNew)
    #expect(try await !spender.useNonce(nonceUse("3", in: room)).isNew)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRefusedStatementFailsItsOwnRequestAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let spender = try Spender(room)
    try await spender.refuse(true)
    let results = try await spender.together(["1", "2", "3"].map { nonceUse($0, in: room) })
    #expect(try results[0].get().isNew)
    #expect(throws: (any Error).self) { try results[1].get() }
    #expect(try results[2].get().isNew)
    try await spender.refuse(false)
    // It was not used.
    #expect(try await spender.useNonce(nonceUse("2", in: room)).isNew)
  }

  @Test(arguments: StorageEngine.allCases)
  func theFirstOfTwoUsesOfANonceInATransactionWins(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let spender = try Spender(room)
    let results = try await spender.together([
      nonceUse("1", in: room), nonceUse("1", in: room), nonceUse("1", in: room),
    ])
    #expect(try results.count { try $0.get().isNew } == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRequestWhoseClientHasGoneByItsTurnUsesNoNonce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let spender = try Spender(room)
    let results = try await spender.together(["1", "2", "3"].map { nonceUse($0, in: room) }, gone: [1])
    #expect(try results[0].get().isNew)
    #expect(throws: CancellationError.self) { try results[1].get() }
    #expect(try results[2].get().isNew)
    #expect(try await spender.useNonce(nonceUse("2", in: room)).isNew)
  }

  @Test(arguments: StorageEngine.allCases)
  func moreThanATransactionTakesAreSpentAllTheSame(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let spender = try Spender(room)
    let results = try await spender.together((0..<300).map { nonceUse(String($0), in: room) })
    #expect(try results.map { try $0.get().isNew } == [Bool](repeating: true, count: 300))
  }
}

/// An engine whose turns can be kept busy.
private struct Spender {
  private let room: StorageFixture
  private let nonceUses: NonceUseQueue
  let useNonce: @Sendable (NonceUse) async throws -> NonceUse.Outcome

  init(_ room: StorageFixture) throws {
    self.room = room
    switch room.storage {
    case let storage as SQLiteStorage: (nonceUses, useNonce) = (storage.nonceUses, { try await storage.useNonce($0) })
    case let storage as PostgreSQLStorage:
      (nonceUses, useNonce) = (storage.nonceUses, { try await storage.useNonce($0) })
    default: throw StorageError(.noDatabase, path: room.folder)
    }
  }

  /// Uses all of them; none has its turn before all wait.
  ///
  /// - Parameter gone: the places of those whose clients have gone.
  func together(
    _ nonceUses: [NonceUse], gone: Set<Int> = []
  ) async throws -> [Result<NonceUse.Outcome, any Error>] {
    let (keeping, isKept) = AsyncStream.makeStream(of: Void.self)
    async let busy: Void = keepBusy(until: nonceUses.count) { isKept.finish() }
    for await _ in keeping {}
    let results = await withTaskGroup(
      of: (Int, Result<NonceUse.Outcome, any Error>).self, returning: [Result<NonceUse.Outcome, any Error>].self
    ) { group in
      for (number, nonceUse) in nonceUses.enumerated() {
        let departure: ClientDeparture? = gone.contains(number) ? ClientDeparture { true } : nil
        group.addTask {
          do {
            let outcome = try await ClientDeparture.$current.withValue(departure) { try await useNonce(nonceUse) }
            return (number, .success(outcome))
          } catch { return (number, .failure(error)) }
        }
      }
      var results: [Int: Result<NonceUse.Outcome, any Error>] = [:]
      for await (number, result) in group { results[number] = result }
      return nonceUses.indices.compactMap { results[$0] }
    }
    try await busy
    return results
  }

  private func keepBusy(until count: Int, _ isKept: @escaping @Sendable () -> Void) async throws {
    switch room.storage {
    case let storage as SQLiteStorage:
      let nonceUses = nonceUses
      try await storage.write { _ in
        isKept()
        while nonceUses.count < count { sched_yield() }
      }
    default:
      // Each of two turns waits for the lock with a nonce of its own.
      let connection = try connection()
      _ = try connection.ask([
        PostgreSQLCall("BEGIN"), PostgreSQLCall("LOCK TABLE forgotten_nonces IN ACCESS EXCLUSIVE MODE"),
      ])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<2 {
          let nonce = SignedNonce(owner: "turn", value: "\(number)", forgetAt: room.now.advanced(seconds: 60))
          // The engine gives up a lock that it has waited for too long: on a busy machine before the other one waits.
          let turn = NonceUse(nonce: nonce, now: room.now)
          group.addTask { while !Task.isCancelled, (try? await useNonce(turn)) == nil {} }
          try await until { try await waiting(connection) == number + 1 }
        }
        isKept()
        try await until { nonceUses.count >= count }
        try connection.commit()
        try await group.waitForAll()
      }
    }
  }

  /// How many statements wait for the lock.
  private func waiting(_ connection: PostgreSQLConnection) async throws -> Int {
    let rows = try connection.ask([
      PostgreSQLCall(
        """
        SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND relation = 'forgotten_nonces'::regclass
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """)
    ])
    let count: Int64? = try rows[0].first?.get("count")
    return Int(count ?? 0)
  }

  private struct NeverTrue: Error {}

  private func until(_ isTrue: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !isTrue() {
      guard ContinuousClock.now < end else { throw NeverTrue() }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  private func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }

  /// Damages the stored context of a session.
  func damage(_ session: String) async throws {
    switch room.storage {
    case let storage as SQLiteStorage:
      try await storage.write {
        try $0.execute(sql: "UPDATE session SET context = 'damaged' WHERE id = ?", arguments: [session])
      }
    default:
      try connection().run([PostgreSQLCall("UPDATE session SET context = 'damaged' WHERE id = $1", .text(session))])
    }
  }

  /// From now on the engine refuses to store the nonce "2", or no longer does.
  func refuse(_ isRefused: Bool) async throws {
    switch room.storage {
    case let storage as SQLiteStorage:
      try await storage.write {
        try $0.execute(
          sql: isRefused
            ? """
            CREATE TRIGGER refusing BEFORE INSERT ON spent_nonce WHEN NEW.nonce = '2'
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """ : "DROP TRIGGER refusing")
      }
    default:
      try connection().run([
        PostgreSQLCall(
          isRefused
            ? "ALTER TABLE spent_nonce ADD CONSTRAINT refusing CHECK (nonce <> '2')"
            : "ALTER TABLE spent_nonce DROP CONSTRAINT refusing")
      ])
    }
  }
}
