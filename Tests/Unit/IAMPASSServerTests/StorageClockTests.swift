import DeviceProtocol
import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

@Suite struct StorageClockTests {
  private static let hour: Int64 = 3_600

  private struct ClockFixture {
    let fixture: Fixture
    let phone: TestPhone
    var clock: TestClock { fixture.clock }

    init() async throws {
      fixture = try await Fixture()
      phone = try await TestPhone.registered(in: fixture)
    }

    func signedIn(duration: Int64 = 43_200, service: String = "sshd") async throws -> StartedSession {
      let session = try await fixture.started(
        "alice", context: SignInContext(host: "web-1", service: service), query: "?duration_seconds=\(duration)")
      try await phone.approveOnly()
      #expect(try await fixture.status(of: session).status == .active)
      return session
    }

    func status(of session: StartedSession, by service: SignInService? = nil) async throws -> StatusReply {
      let request = try fixture.signed("GET", session.statusURL, by: session)
      return try StatusReply(parsing: await (service ?? fixture.service).respond(to: request).body)
    }
  }

  // MARK: - A step of the wall clock

  @Test(arguments: [-hour, hour, 400 * 24 * hour])
  func aStepOfTheClockEndsNothing(_ step: Int64) async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn()
    let open = try await office.fixture.started("alice")
    office.clock.step(seconds: step)
    try await office.fixture.service.tidy()
    office.clock.advance(seconds: 45)
    try await office.fixture.service.tidy()
    office.clock.step(seconds: -step)
    #expect(try await office.status(of: live).status == .active)
    #expect(try await office.status(of: open).status == .pending)
  }

  @Test func aStepBackProlongsNothing() async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn(duration: 20)
    let open = try await office.fixture.started("alice")
    office.clock.step(seconds: -Self.hour)
    office.clock.advance(seconds: 20)
    #expect(try await office.status(of: live).reason == "EXPIRED")
    office.clock.advance(seconds: 40)
    #expect(try await office.phone.list().isEmpty)
    #expect(try await office.status(of: open).status == .timeout)
  }

  @Test func aRequestThatIsOverBlocksNobodyAfterAStepBack() async throws {
    let office = try await ClockFixture()
    _ = try await office.fixture.started("alice")
    office.clock.step(seconds: -Self.hour)
    office.clock.advance(seconds: 61)
    _ = try await office.fixture.started("alice")
  }

  @Test func aRestartDoesNotForgetAStep() async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn()
    office.clock.step(seconds: 13 * Self.hour)
    let restarted = try office.fixture.restarted()
    try await restarted.tidy()
    #expect(try await office.status(of: live, by: restarted).status == .active)
    office.clock.advance(seconds: 12 * Self.hour)
    #expect(try await office.status(of: live, by: restarted).reason == "EXPIRED")
  }

  @Test func nothingIsPrunedByAStepForward() async throws {
    let office = try await ClockFixture()
    let storage = office.fixture.service.storage
    let link = try await office.fixture.linkCode(for: "alice", lost: true)
    let before = try await storage.auditEntries(after: 0).count
    office.clock.step(seconds: 500 * 24 * Self.hour)
    try await office.fixture.service.tidy()
    office.clock.step(seconds: -500 * 24 * Self.hour)
    #expect(try await storage.auditEntries(after: 0).count == before)
    #expect(try await storage.keptAnswers(after: 0).isEmpty)
    let shown = await office.fixture.respond(
      ServiceRequest(method: "GET", target: "/register/\(link.exposedValue)", authority: Fixture.authority))
    #expect(shown.status == 200)
  }

  @Test func peopleAreShownTheClockThatComputersConfirm() async throws {
    let office = try await ClockFixture()
    let storage = office.fixture.service.storage
    office.clock.step(seconds: -2 * Self.hour)
    _ = try await office.signedIn()
    let approved = office.clock.now
    let entries = try await storage.auditEntries(after: 0)
    #expect(entries.last { $0.event == "approved" }?.at == approved)
    let shown = try DeviceStatusReply(parsing: try await office.phone.status().body)
    #expect(shown.sessions.first?.since == approved.seconds)
  }

  // MARK: - Nonces

  /// Whether an accepted request is accepted again.
  private func isTakenAgain(_ request: ServiceRequest, _ fixture: Fixture) async -> Bool {
    let reply = await fixture.respond(request)
    #expect(reply.status == 200 || reply.reason == "NONCE_REPLAYED")
    return reply.status == 200
  }

  private func poll(_ fixture: Fixture) throws -> ServiceRequest {
    try fixture.signed("GET", "/authentication/service_mark/\(fixture.application.id)")
  }

  @Test(arguments: [700, hour, 30 * 24 * hour])
  func aSpentNonceStaysSpentOverAStepForwardAndBack(_ step: Int64) async throws {
    let fixture = try await Fixture()
    let request = try poll(fixture)
    #expect(await fixture.respond(request).status == 200)
    fixture.clock.step(seconds: step)
    try await fixture.service.tidy()
    fixture.clock.advance(seconds: 45)
    try await fixture.service.tidy()
    fixture.clock.step(seconds: -step)
    #expect(await !isTakenAgain(request, fixture))
  }

  @Test(arguments: [hour, 3 * 24 * hour])
  func aSpentNonceStaysSpentWhenTheClockIsSetBackToItsTime(_ time: Int64) async throws {
    let fixture = try await Fixture()
    let request = try poll(fixture)
    #expect(await fixture.respond(request).status == 200)
    fixture.clock.advance(seconds: time)
    try await fixture.service.tidy()
    fixture.clock.step(seconds: -time)
    #expect(await !isTakenAgain(request, fixture))
  }

  @Test func nobodyIsKeptOutByAClockThatWasWrong() async throws {
    let fixture = try await Fixture()
    // Hours before the newest accepted request, and a month.
    for step in [2 * Self.hour, 30 * 24 * Self.hour] {
      fixture.clock.step(seconds: step)
      for _ in 0..<4 {
        #expect(await fixture.respond(try poll(fixture)).status == 200)
        fixture.clock.advance(seconds: 12 * Self.hour)
        try await fixture.service.tidy()
      }
      fixture.clock.step(seconds: -step)
      #expect(await fixture.respond(try poll(fixture)).status == 200)
    }
  }

  // MARK: - Another boot, another machine

  @Test func aSessionOutlivesARebootOfTheService() async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn()
    try await office.fixture.service.tidy()
    office.clock.reboot(after: Self.hour)
    let restarted = try office.fixture.restarted()
    try await restarted.tidy()
    #expect(try await office.status(of: live, by: restarted).status == .active)
    // The hour in which the machine was off counts.
    office.clock.advance(seconds: 11 * Self.hour - 1)
    #expect(try await office.status(of: live, by: restarted).status == .active)
    office.clock.advance(seconds: 1)
    #expect(try await office.status(of: live, by: restarted).reason == "EXPIRED")
  }

  @Test(arguments: [24 * hour, -400 * 24 * hour])
  func aClockThatIsWrongJustAfterAStartEndsAndProlongsNothing(_ error: Int64) async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn()
    let other = try await office.signedIn(duration: 2 * Self.hour, service: "login")
    try await office.fixture.service.tidy()
    office.clock.reboot(after: 2 * Self.hour)
    office.clock.step(seconds: error)
    let restarted = try office.fixture.restarted()
    try await restarted.tidy()
    office.clock.advance(seconds: 30)
    try await restarted.tidy()
    // A computer with a right clock is refused, and confirms nothing.
    office.clock.step(seconds: -error)
    let question = try office.fixture.signed("GET", live.statusURL, by: live)
    office.clock.step(seconds: error)
    #expect(await restarted.respond(to: question).reason == "TIMESTAMP_OUTSIDE_WINDOW")
    try await restarted.tidy()
    office.clock.step(seconds: -error)
    #expect(try await office.status(of: live, by: restarted).status == .active)
    #expect(try await office.status(of: other, by: restarted).reason == "EXPIRED")
  }

  @Test func twoStartsWithoutARequestBetweenLoseNoTime() async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn(duration: 3 * Self.hour)
    try await office.fixture.service.tidy()
    for _ in 0..<2 {
      office.clock.reboot(after: Self.hour)
      let restarted = try office.fixture.restarted()
      office.clock.advance(seconds: Self.hour / 2)
      try await restarted.tidy()
    }
    let restarted = try office.fixture.restarted()
    #expect(try await office.status(of: live, by: restarted).reason == "EXPIRED")
  }

  @Test func aDatabaseThatWasMovedGoesOnByItsOwnTime() async throws {
    let office = try await ClockFixture()
    let live = try await office.signedIn()
    let copy = office.fixture.folder + "/copy"
    try await office.fixture.service.storage.copyAll(to: copy)
    // A machine that has been running for a year.
    office.clock.reboot(after: Self.hour, running: 365 * 24 * Self.hour)
    let moved = try office.fixture.putBack(copy)
    try await moved.tidy()
    #expect(try await office.status(of: live, by: moved).status == .active)
    office.clock.advance(seconds: 11 * Self.hour)
    #expect(try await office.status(of: live, by: moved).reason == "EXPIRED")
  }

  @Test func theCommandsBesideTheServiceHaveItsTime() async throws {
    let fixture = try await Fixture()
    #expect(await fixture.respond(try poll(fixture)).status == 200)
    fixture.clock.step(seconds: 5 * Self.hour)
    fixture.clock.advance(seconds: 10)
    let beside = try SQLiteStorage(existing: fixture.folder, clocks: fixture.clock.clocks)
    #expect(beside.now() == fixture.service.storage.now())
  }

  @Test func aDatabaseOfBeforeForgetsNothingWhenItIsBroughtUpToDate() async throws {
    let clock = TestClock()
    let name = "/iampass-test-" + (try #require(Digest.randomIdentifier()))
    let folder = TestFolder.path + name
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let now = clock.now
    let forgetAt = now.advanced(seconds: SignedNonce.lifetime)
    let before = try DatabaseQueue(path: folder + "/iampass.sqlite")
    try Schema.migrator.migrate(before, upTo: "hosts' boots")
    try await before.write { db in
      try db.execute(
        sql: "INSERT INTO spent_nonce (client, nonce, forget_at) VALUES ('application:a', '7', ?)",
        arguments: [forgetAt.milliseconds])
      try db.execute(sql: "INSERT INTO audit (at, event) VALUES (?, 'asked')", arguments: [now.milliseconds])
    }
    try before.close()
    let storage = try SQLiteStorage(folder: folder, clocks: clock.clocks)
    #expect(storage.now() == now)
    try await storage.forgetOld(at: now, wall: now)
    let isSpentAgain = try await storage.write { db in
      try NonceTimes.useNonce("7", client: "application:a", forgetAt: forgetAt, at: now, in: db)
    }
    #expect(!isSpentAgain)
    #expect(try await storage.auditEntries(after: 0).map(\.at) == [now])
  }

  @Test func manyNoncesAreForgottenBeforeADayIsOver() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.storage
    let now = storage.now()
    let later = now.advanced(seconds: SignedNonce.lifetime + 1)
    try await storage.write { db in
      for (client, time) in [("a", now), ("b", later)] {
        try db.execute(
          sql: """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?4)
            INSERT INTO spent_nonce (client, nonce, forget_at, spent_at) SELECT ?1, n, ?2, ?3 FROM number
            """,
          arguments: [client, time.milliseconds, time.milliseconds, NonceTimes.usualCount])
      }
    }
    try await storage.forgetOld(at: later.advanced(seconds: 1), wall: later.advanced(seconds: 1))
    let left = try await storage.read { try String.fetchSet($0, sql: "SELECT DISTINCT client FROM spent_nonce") }
    #expect(left == ["b"])
    #expect(try await storage.write { try !NonceTimes.useNonce("7", client: "a", forgetAt: now, at: later, in: $0) })
  }

  // MARK: - The machine's clocks

  @Test func theMachineHasABootIDAndAClockThatRuns() {
    let clocks = MachineClocks.system
    #expect(clocks.bootID()?.utf8.count == 36)
    let first = clocks.sinceBoot()
    #expect(first > 0 && clocks.sinceBoot() >= first)
  }

  /// Both have the same clock, and it may be wrong until the network has set it.
  @Test(arguments: [(StorageClock.ownTime - 1, false), (StorageClock.ownTime, true)])
  func aClientOnTheSameMachineConfirmsNothingJustAfterAStart(_ sinceBoot: Int64, _ isConfirmed: Bool) {
    let clocks = MachineClocks(bootID: { "b2" }, sinceBoot: { sinceBoot }, wall: { UnixTime(seconds: 100) })
    let stored = StorageClock.Anchor(
      bootID: "b1", sinceBoot: 1_000, time: UnixTime(seconds: 50), unixTime: UnixTime(seconds: 50), isSettled: true)
    let clock = StorageClock(clocks, stored: stored)
    #expect(clock.confirm(by: 100, isOwn: true) == isConfirmed)
    #expect(clock.now() == UnixTime(seconds: isConfirmed ? 100 : 50))
  }

  @Test func aClientElsewhereConfirmsTheClockJustAfterAStart() {
    let clocks = MachineClocks(bootID: { "b2" }, sinceBoot: { 5_000 }, wall: { UnixTime(seconds: 100) })
    let stored = StorageClock.Anchor(
      bootID: "b1", sinceBoot: 1_000, time: UnixTime(seconds: 50), unixTime: UnixTime(seconds: 50), isSettled: true)
    #expect(StorageClock(clocks, stored: stored).confirm(by: 100, isOwn: false))
  }

  @Test(arguments: [("127.0.0.1", true), ("::1", true), ("192.0.2.1", false), ("2001:db8::1", false)])
  func loopbackIsThisMachine(_ address: String, _ isOwn: Bool) throws {
    #expect(try #require(ClientAddress(address)).isThisMachine == isOwn)
  }

  @Test func aMachineThatNamesNoBootIsTakenForANewOneEachTime() {
    let clocks = MachineClocks(bootID: { nil }, sinceBoot: { 5_000 }, wall: { UnixTime(seconds: 100) })
    let stored = StorageClock.Anchor(
      bootID: nil, sinceBoot: 1_000, time: UnixTime(seconds: 50), unixTime: UnixTime(seconds: 50), isSettled: true)
    let clock = StorageClock(clocks, stored: stored)
    #expect(clock.now() == UnixTime(seconds: 50))
    #expect(clock.confirm(by: 100))
    #expect(clock.now() == UnixTime(seconds: 100))
  }
}
