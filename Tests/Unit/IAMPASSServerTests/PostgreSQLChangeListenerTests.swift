import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// What a server hears of the other servers on its database.
@Suite struct PostgreSQLChangeListenerTests {
  @Test func aServerThatBeginsToListenMayHaveMissedAnything() async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(try await room.storage.changeListener?.events() == [.missed])
  }

  @Test func aChangeAtAnotherServerIsTold() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    let others = try #require(room.opened().changeListener)
    _ = try await others.events()
    let session = try await room.started(room.ask())
    #expect(try await told(by: others).prefix(2) == [.changed(.session(session.id)), .changed(.user(phone.user))])
    _ = try await room.answer(session.id, .approve, by: phone).get()
    #expect(try await told(by: others).contains(.changed(.session(session.id))))
  }

  /// Otherwise a page at another server showed it only at its next beat.
  @Test func whatElseAPhoneShowsIsTold() async throws {
    let room = try await StorageFixture(.postgresql)
    let user = try await room.addUser()
    let storage = room.storage
    let others = try #require(room.opened().changeListener)
    _ = try await others.events()
    func isTold(_ act: () async throws -> Void) async throws -> Bool {
      try await act()
      let news = try await told(by: others)
      return !news.isEmpty && news.allSatisfy { $0 == .changed(.user(user)) }
    }
    var phone = ActingPhone(id: "", user: user)
    #expect(try await isTold { phone = try await room.phone() }, "a new phone")
    let device = try await room.started(room.ask())
    _ = try await told(by: others)
    #expect(try await isTold { _ = try await room.start(room.ask()) }, "a request that is held back")
    #expect(try await storage.session(device.id)?.heldBack == 1)
    _ = try await room.answer(device.id, .deny, by: phone)
    _ = try await told(by: others)
    #expect(try await isTold { _ = try await room.start(room.ask(methods: [.device])) }, "a method that it lacks")
    let lock = VerifiedCredential(id: "c", publicKey: "k", counter: 0)
    #expect(
      try await isTold {
        _ = try await storage.keepCredential(lock, pinMAC: nil, of: phone, at: room.now) { _ in nil }
      },
      "a screen lock")
    #expect(
      try await isTold { _ = try await storage.keepFace(true, of: phone, at: room.now) { _ in nil } },
      "an app's word on faces")
    let signInClient = SignInClient(application: room.application, credential: nil)
    let report = CodeUseReport(id: "c", way: .phone, usedAt: 1_700_000_000, left: nil, context: SignInContext())
    let use = CodeUse(report: report, credential: nil)
    #expect(
      try await isTold { _ = try await storage.record(use, of: "alice", by: signInClient, at: room.now) },
      "a code that was used")
    #expect(try await isTold { _ = try await storage.setPresence(.away, of: phone, at: room.now) }, "its presence")
    #expect(try await isTold { _ = try await room.makeLink(loss: .keepsSessions) }, "that it is lost")
  }

  /// It would be told for each request, at each server.
  @Test func thatAPhoneIsThereIsNotTold() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    let stored = try #require(await room.storage.phone(phone.id))
    let others = try #require(room.opened().changeListener)
    _ = try await others.events()
    try await room.storage.markPage(of: phone.id)
    try await room.storage.notePageView(of: phone, at: room.now)
    _ = try await room.storage.markSeen(stored, wasSilent: true, at: room.now)
    // Messages come in the order of commits.
    _ = try await room.storage.logOut(session.id, at: room.now)
    #expect(try await told(by: others).first == .changed(.session(session.id)))
  }

  /// `md5` fails in FIPS mode, with this code. The schema's own function takes its place.
  @Test func aDatabaseThatForbidsMD5TellsChangesToo() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    try connection(room).run(
      script: """
        CREATE FUNCTION md5(text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN RAISE internal_error USING MESSAGE = 'could not compute MD5 hash: unsupported'; END $$
        """)
    let url = try StorageEngine.url(of: room.folder) + "%2Cpg_catalog"
    let server = try PostgreSQLStorage(url: url, clocks: room.clock.clocks)
    let others = try #require(PostgreSQLStorage(url: url, clocks: room.clock.clocks).changeListener)
    _ = try await others.events()
    let session = try await room.started(room.ask(), on: server)
    #expect(try await told(by: others).prefix(2) == [.changed(.session(session.id)), .changed(.user(phone.user))])
  }

  /// Servers from before the migration listen on the channel of `md5`.
  @Test func aDatabaseThatHasMD5TellsOlderServersToo() async throws {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.phone()
    let older = try connection(room)
    try older.run([
      PostgreSQLCall("DO $$ BEGIN EXECUTE format('LISTEN %I', 'iampass_' || md5(current_schema())); END $$")
    ])
    let session = try await room.started(room.ask())
    let first = try #require(try older.notification(within: .seconds(60)))
    #expect(first.payload.hasSuffix(" session \(session.id)"))
  }

  @Test func aLostMessageIsNoticedByTheNextSweeps() async throws {
    let room = try await StorageFixture(.postgresql)
    let others = try #require(room.storage.changeListener)
    _ = try await others.events()
    // The triggers' message of this is lost.
    try connection(room).run([PostgreSQLCall("UPDATE service_mark SET counter = counter + 1")])
    #expect(try await told(by: others) == [.missed])
  }

  @Test func aConnectionThatEndsIsSaidAndMadeAgain() async throws {
    let room = try await StorageFixture(.postgresql)
    let others = try #require(room.storage.changeListener)
    _ = try await others.events()
    try connection(room).run([
      PostgreSQLCall(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name = current_schema()
        """)
    ])
    await #expect(throws: PostgreSQLError.self) {
      for _ in 0..<30 { _ = try await others.events() }
    }
    #expect(try await others.events() == [.missed])
  }

  /// The change may be one that this program's statements would damage.
  @Test func aRunningServerHearsThatItIsTooOld() async throws {
    let room = try await StorageFixture(.postgresql)
    let others = try #require(room.storage.changeListener)
    _ = try await others.events()
    // A change that only adds stops nobody.
    let connection = try connection(room)
    try connection.run([PostgreSQLCall("INSERT INTO schema_migration (name, least) VALUES ('later', 1)")])
    for _ in 0..<2 { _ = try await others.events() }
    try connection.run([PostgreSQLCall("UPDATE schema_migration SET least = 99 WHERE name = 'later'")])
    for listens in [true, false] {
      await #expect("\(listens ? "at a sweep" : "with a new connection")") {
        for _ in 0..<(listens ? 30 : 1) { _ = try await others.events() }
      } throws: { ($0 as? StorageError)?.code == .databaseTooNew }
    }
  }

  @Test func oneServerDoesTheHousekeepingAndAnotherTakesOver() async throws {
    let room = try await StorageFixture(.postgresql)
    let first = try #require(room.storage.changeListener)
    let second = try #require(room.opened().changeListener)
    #expect(!first.holdsHousekeeperLease)
    _ = try await first.events()
    _ = try await second.events()
    #expect(first.holdsHousekeeperLease)
    #expect(!second.holdsHousekeeperLease)
    try connection(room).run([
      PostgreSQLCall(
        """
        SELECT pg_terminate_backend(pid)::text FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND application_name = current_schema()
        """)
    ])
    for _ in 0..<30 where !second.holdsHousekeeperLease { _ = try await second.events() }
    #expect(second.holdsHousekeeperLease)
    await #expect(throws: PostgreSQLError.self) { for _ in 0..<30 { _ = try await first.events() } }
    #expect(!first.holdsHousekeeperLease)
    _ = try await first.events()
    #expect(!first.holdsHousekeeperLease)
  }

  /// Its connection and its lock stay where they are.
  @Test func aKeeperThatIsStoppedIsReplacedAfterAMinuteAndChangesNothingWhenItGoesOn() async throws {
    let fixture = try await Fixture(engine: .postgresql)
    let stopped = fixture.service
    let first = try #require(stopped.core.storage.changeListener)
    let other = try StorageEngine.postgresql.open(in: fixture.folder, fixture.clock)
    let second = try #require(other.changeListener)
    _ = try await first.events()
    for _ in 0..<3 { _ = try await second.events() }
    #expect(first.holdsHousekeeperLease && !second.holdsHousekeeperLease)
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let connection = try PostgreSQLConnection(
      to: PostgreSQLAddress(validating: StorageEngine.url(of: fixture.folder)))
    try connection.run([PostgreSQLCall("UPDATE housekeeper SET renewed_at = renewed_at - 61000")])
    for _ in 0..<30 where !second.holdsHousekeeperLease { _ = try await second.events() }
    #expect(second.holdsHousekeeperLease)
    // It goes on with what it was about to do: it does not know yet.
    #expect(first.holdsHousekeeperLease)
    fixture.clock.advance(seconds: 86_400)
    let live = PostgreSQLCall("SELECT count(*) FROM session WHERE ended_at IS NULL")
    await #expect(throws: HousekeeperLeaseLost.self) { try await stopped.tidyIfLeaseHolder() }
    #expect(try connection.run([live])[0].first?.integer(0) == 1)
    // It has the lock, so that it takes over again, and the other one notices.
    for _ in 0..<30 where second.holdsHousekeeperLease {
      _ = try await first.events()
      _ = try await second.events()
    }
    #expect(first.holdsHousekeeperLease && !second.holdsHousekeeperLease)
    try await stopped.tidyIfLeaseHolder()
    #expect(try connection.run([live])[0].first?.integer(0) == 0)
  }

  @Test func aKeeperIsNotReplacedWhileItChangesSomething() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let others = try #require(storage.changeListener)
    _ = try await others.events()
    let take = [
      PostgreSQLCall("SET lock_timeout = '100ms'"), PostgreSQLCall("UPDATE housekeeper SET server = 'other'"),
    ]
    let address = try PostgreSQLAddress(validating: StorageEngine.url(of: room.folder))
    try await HousekeeperDuty.$isOn.withValue(true) {
      try await storage.write { db in
        let connection = try PostgreSQLConnection(to: address)
        #expect(throws: PostgreSQLError.self) { try connection.run(take) }
        // It renews its row meanwhile.
        try connection.run([PostgreSQLCall("UPDATE housekeeper SET renewed_at = renewed_at + 1")])
        _ = try db.has("SELECT 1 FROM housekeeper")
      }
    }
    try connection(room).run(take)
    await #expect(throws: HousekeeperLeaseLost.self) {
      try await HousekeeperDuty.$isOn.withValue(true) { try await storage.write { _ in } }
    }
  }

  /// The first news; nothing happens in most seconds.
  private func told(by others: any ChangeListener) async throws -> [ServerEvent] {
    for _ in 0..<30 {
      let news = try await others.events()
      if !news.isEmpty { return news }
    }
    return []
  }

  private func connection(_ room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }
}
