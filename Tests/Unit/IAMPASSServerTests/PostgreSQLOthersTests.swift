import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What a server hears of the other servers on its database.
@Suite struct PostgreSQLOthersTests {
  @Test func aServerThatBeginsToListenMayHaveMissedAnything() async throws {
    let room = try await StorageRoom(.postgresql)
    #expect(try await room.storage.others?.news() == [.missed])
  }

  @Test func aChangeAtAnotherServerIsTold() async throws {
    let room = try await StorageRoom(.postgresql)
    let phone = try await room.phone()
    let others = try #require(room.opened().others)
    _ = try await others.news()
    let session = try await room.started(room.ask())
    #expect(try await told(by: others).prefix(2) == [.changed(.session(session.id)), .changed(.user(phone.user))])
    _ = try await room.answer(session.id, .approve, by: phone).get()
    #expect(try await told(by: others).contains(.changed(.session(session.id))))
  }

  @Test func aLostMessageIsNoticedByTheNextSweeps() async throws {
    let room = try await StorageRoom(.postgresql)
    let others = try #require(room.storage.others)
    _ = try await others.news()
    // The triggers' message of this is lost.
    try connection(room).run([PostgreSQLCall("UPDATE service_mark SET counter = counter + 1")])
    #expect(try await told(by: others) == [.missed])
  }

  @Test func aConnectionThatEndsIsSaidAndMadeAgain() async throws {
    let room = try await StorageRoom(.postgresql)
    let others = try #require(room.storage.others)
    _ = try await others.news()
    try connection(room).run([
      PostgreSQLCall(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name = current_schema()
        """)
    ])
    await #expect(throws: PostgreSQLError.self) {
      for _ in 0..<30 { _ = try await others.news() }
    }
    #expect(try await others.news() == [.missed])
  }

  /// The change may be one that this program's statements would damage.
  @Test func aRunningServerHearsThatItIsTooOld() async throws {
    let room = try await StorageRoom(.postgresql)
    let others = try #require(room.storage.others)
    _ = try await others.news()
    // A change that only adds stops nobody.
    let connection = try connection(room)
    try connection.run([PostgreSQLCall("INSERT INTO schema_migration (name, least) VALUES ('later', 1)")])
    for _ in 0..<2 { _ = try await others.news() }
    try connection.run([PostgreSQLCall("UPDATE schema_migration SET least = 99 WHERE name = 'later'")])
    for listens in [true, false] {
      await #expect("\(listens ? "at a sweep" : "with a new connection")") {
        for _ in 0..<(listens ? 30 : 1) { _ = try await others.news() }
      } throws: { ($0 as? StorageError)?.code == .databaseTooNew }
    }
  }

  @Test func oneServerKeepsHouseAndAnotherTakesOver() async throws {
    let room = try await StorageRoom(.postgresql)
    let first = try #require(room.storage.others)
    let second = try #require(room.opened().others)
    #expect(!first.keepsHouse)
    _ = try await first.news()
    _ = try await second.news()
    #expect(first.keepsHouse)
    #expect(!second.keepsHouse)
    try connection(room).run([
      PostgreSQLCall(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND application_name = current_schema()
        """)
    ])
    for _ in 0..<30 where !second.keepsHouse { _ = try await second.news() }
    #expect(second.keepsHouse)
    await #expect(throws: PostgreSQLError.self) { for _ in 0..<30 { _ = try await first.news() } }
    #expect(!first.keepsHouse)
    _ = try await first.news()
    #expect(!first.keepsHouse)
  }

  /// The first news; nothing happens in most seconds.
  private func told(by others: any OtherServers) async throws -> [ServerNews] {
    for _ in 0..<30 {
      let news = try await others.news()
      if !news.isEmpty { return news }
    }
    return []
  }

  private func connection(_ room: StorageRoom) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }
}
