import GRDB
import Glibc
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// SQLite spends nonces that wait together in one transaction.
@Suite struct WaitingSpendingsTests {
  private let room: StorageRoom
  private let storage: SQLiteStorage

  init() async throws {
    room = try await StorageRoom(.sqlite)
    storage = try #require(room.storage as? SQLiteStorage)
  }

  private func spending(_ value: String, telling session: String? = nil) -> Spending {
    let now = room.now
    return Spending(
      nonce: SignedNonce(
        owner: "a", value: value, forgetAt: now.advanced(seconds: SignatureCheck.nonceLifetime)),
      now: now, session: session)
  }

  /// Spends all of them while a write keeps the connection busy until all wait.
  private func together(_ spendings: [Spending]) async throws -> [Result<Spending.Outcome, any Error>] {
    let storage = storage
    let (beginning, begun) = AsyncStream.makeStream(of: Void.self)
    let busy = Task {
      try await storage.write { _ in
        begun.finish()
        while storage.spendings.count < spendings.count { sched_yield() }
      }
    }
    for await _ in beginning {}
    return await withTaskGroup(of: (Int, Result<Spending.Outcome, any Error>).self) { group in
      for (number, spending) in spendings.enumerated() {
        group.addTask {
          do { return (number, .success(try await storage.spend(spending))) } catch { return (number, .failure(error)) }
        }
      }
      var results: [Int: Result<Spending.Outcome, any Error>] = [:]
      for await (number, result) in group { results[number] = result }
      _ = await busy.result
      return spendings.indices.compactMap { results[$0] }
    }
  }

  @Test func aDamagedRowFailsItsOwnRequestAlone() async throws {
    let phone = try await room.phone()
    let sound = try await room.approved(by: phone)
    let damaged = try await room.approved(by: phone, host: "web-2")
    try await storage.write {
      try $0.execute(sql: "UPDATE session SET context = 'damaged' WHERE id = ?", arguments: [damaged.id])
    }
    let results = try await together([
      spending("1"), spending("2", telling: damaged.id), spending("3", telling: sound.id),
    ])
    #expect(try results[0].get().isNew)
    #expect(throws: (any Error).self) { try results[1].get() }
    #expect(try results[2].get().told?.session.id == sound.id)
    #expect(try await !storage.spend(spending("1")).isNew)
    #expect(try await !storage.spend(spending("3")).isNew)
  }

  @Test func aRefusedStatementFailsItsOwnRequestAlone() async throws {
    try await storage.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER refusing BEFORE INSERT ON spent_nonce WHEN NEW.nonce = '2' BEGIN SELECT RAISE(ABORT, 'no'); END
          """)
    }
    let results = try await together(["1", "2", "3"].map { spending($0) })
    #expect(try results[0].get().isNew)
    #expect(throws: DatabaseError.self) { try results[1].get() }
    #expect(try results[2].get().isNew)
    try await storage.write { try $0.execute(sql: "DROP TRIGGER refusing") }
    // It was not spent.
    #expect(try await storage.spend(spending("2")).isNew)
  }

  @Test func ofOneNonceTwiceInATransactionTheFirstWins() async throws {
    let results = try await together([spending("1"), spending("1"), spending("1")])
    #expect(try results.map { try $0.get().isNew }.filter { $0 }.count == 1)
  }

  @Test func moreThanATransactionTakesAreSpentAllTheSame() async throws {
    let results = try await together((0..<300).map { spending(String($0)) })
    #expect(try results.map { try $0.get().isNew } == [Bool](repeating: true, count: 300))
  }
}
