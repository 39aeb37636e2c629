import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// A database whose history goes on at another place: a standby was promoted, or a copy was put back.
@Suite struct PostgreSQLHistoryTests {
  @Test func theFirstServerRemembersThePlaceAndBeginsNoEpoch() async throws {
    let room = try await StorageFixture(.postgresql)
    let epoch = try await room.storage.mark().epoch
    for _ in 0..<2 { #expect(try !Self.opened(room).beginWithCopy()) }
    let places = try Self.connection(room).ask([PostgreSQLCall("SELECT place FROM history_place")])[0]
    let place = try #require(try places.first?.text(0))
    #expect(places.count == 1)
    #expect(place.wholeMatch(of: /\d+-[0-9A-F]{8}-\d+/) != nil)
    #expect(try await room.storage.mark().epoch == epoch)
  }

  @Test(arguments: ["1-00000001-1", "another place"])
  func anotherPlaceBeginsOneHigherEpochAndWhatMayBeSpentIsSpent(_ place: String) async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(try !Self.opened(room).beginWithCopy())
    _ = try await room.addUser()
    let link = try await room.makeLink().code
    _ = try await room.storage.createConsoleLink(at: room.now)
    let epoch = try await room.storage.mark().epoch
    try Self.move(room, to: place)
    #expect(try Self.opened(room).beginWithCopy())
    #expect(try await room.storage.mark().epoch > epoch)
    for (value, earlier, isTaken) in [("1", Int64(1), false), ("2", 0, true)] {
      let forgetAt = room.now.advanced(seconds: SignedNonce.lifetime - earlier)
      let nonce = SignedNonce(owner: "host:a", value: value, forgetAt: forgetAt)
      #expect(try await room.storage.useNonce(nonce, at: room.now) == isTaken)
    }
    let used = try await room.storage.register(
      try StorageFixture.newPhone(), by: link, at: room.now, deciding: StorageFixture.unusedLink)
    #expect(throws: Refusal.self) { try used.get() }
    let left = try Self.connection(room).ask([PostgreSQLCall("SELECT count(*) FROM console_link")])[0]
    #expect(try left.first?.integer(0) == 0)
    // It is the usual place from then on.
    let known = try await room.storage.mark().epoch
    #expect(try !Self.opened(room).beginWithCopy())
    #expect(try await room.storage.mark().epoch == known)
  }

  /// As `pg_restore --clean` leaves them.
  @Test func tablesThatWereMadeAgainAreAnotherPlace() async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(try !Self.opened(room).beginWithCopy())
    try Self.connection(room).run(
      script: """
        CREATE TABLE made_again (LIKE service_mark INCLUDING ALL);
        INSERT INTO made_again SELECT * FROM service_mark;
        DROP TABLE service_mark;
        ALTER TABLE made_again RENAME TO service_mark;
        """)
    #expect(try Self.opened(room).beginWithCopy())
  }

  @Test func oneOfManyServersBeginsTheEpoch() async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(try !Self.opened(room).beginWithCopy())
    try Self.move(room, to: "another place")
    let servers = try (0..<4).map { _ in try Self.opened(room) }
    let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
      for server in servers { group.addTask { try server.beginWithCopy() } }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(begun == 1)
    let marks = try Self.connection(room).ask([PostgreSQLCall("SELECT count(*) FROM restored_copy")])[0]
    #expect(try marks.first?.integer(0) == 1)
  }

  /// Nobody may be told anything by it before.
  @Test func aNewConnectionIsLookedAtBeforeItIsUsed() async throws {
    let room = try await StorageFixture(.postgresql)
    let server = try Self.opened(room)
    #expect(try !server.beginWithCopy())
    let epoch = try await room.storage.mark().epoch
    try Self.move(room, to: "another place")
    #expect(try await server.mark().epoch == epoch)
    server.pool.closeAll()
    #expect(try await server.mark().epoch > epoch)
  }

  /// By another name of the promoted machine, its connections have outlived the promotion.
  @Test func aServerThatStaysConnectedNoticesAndSaysSo() async throws {
    let room = try await StorageFixture(.postgresql)
    let server = try Self.opened(room)
    #expect(try !server.beginWithCopy())
    let others = try #require(server.changeListener)
    #expect(try await others.events() == [.missed])
    let epoch = try await room.storage.mark().epoch
    try Self.move(room, to: "another place")
    var news: [ServerEvent] = []
    for _ in 0..<30 where news.isEmpty { news = try await others.events() }
    #expect(news == [.historyBegan])
    #expect(try await room.storage.mark().epoch > epoch)
  }

  /// Nonces that were used since would work again.
  @Test func aClockThatIsBehindBeginsNothing() async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(try !Self.opened(room).beginWithCopy())
    let epoch = try await room.storage.mark().epoch
    try Self.move(room, to: "another place")
    room.clock.step(seconds: -3_600)
    let server = try Self.opened(room)
    #expect { try server.beginWithCopy() } throws: { ($0 as? StorageError)?.code == .clockBehindCopy }
    // Nor is a new connection used.
    server.pool.closeAll()
    await #expect(throws: StorageError.self) { try await server.mark() }
    #expect(try await room.storage.mark().epoch == epoch)
    room.clock.step(seconds: 3_600)
    #expect(try await server.mark().epoch > epoch)
  }

  private static func opened(_ room: StorageFixture) throws -> PostgreSQLStorage {
    try #require(try room.opened() as? PostgreSQLStorage)
  }

  private static func connection(_ room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }

  /// What the database finds where its history was written before.
  private static func move(_ room: StorageFixture, to place: String) throws {
    _ = try connection(room).run([PostgreSQLCall("UPDATE history_place SET place = $1", .text(place))])
  }
}
