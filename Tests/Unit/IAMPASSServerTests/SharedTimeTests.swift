import Synchronization
import Testing

@testable import IAMPASSServer

/// Servers share a database's clock, which is set while they run, and one starts afterwards.
@Suite struct SharedTimeTests {
  private static let minute: Int64 = 60_000
  private static let hour: Int64 = 60 * minute
  private static let year: Int64 = 365 * 24 * hour

  /// A database's clock and anchor. All servers' computers have a boot clock of the same speed.
  private final class Database: DatabaseClock, Sendable {
    private struct State {
      var clock: Int64 = 1_800_000_000_000
      var passed: Int64 = 5_000
      var anchor: StorageClock.Anchor?
    }

    private let state = Mutex(State())

    func unixMilliseconds() -> Int64 { state.withLock(\.clock) }
    func time() -> DatabaseTime {
      state.withLock { DatabaseTime(unixMilliseconds: $0.clock, anchor: $0.anchor) }
    }
    var passed: Int64 { state.withLock(\.passed) }
    var anchor: StorageClock.Anchor? { state.withLock(\.anchor) }

    func set(by milliseconds: Int64) { state.withLock { $0.clock += milliseconds } }
    func store(_ anchor: StorageClock.Anchor) { state.withLock { $0.anchor = anchor } }
    func pass(_ milliseconds: Int64) {
      state.withLock {
        $0.clock += milliseconds
        $0.passed += milliseconds
      }
    }
  }

  private final class Server: Sendable {
    let database: Database
    let time: PostgreSQLTime
    let clock: StorageClock

    init(_ database: Database) throws {
      self.database = database
      // Each computer was booted at another time.
      let earlier = Int64.random(in: 0...SharedTimeTests.hour)
      time = PostgreSQLTime { database.passed + earlier }
      try time.measure(database)
      let stored = database.anchor
      clock = StorageClock(time.clocks, stored: stored)
      if clock.isNews(to: stored) { database.store(clock.anchor) }
      time.follow(for: clock)
    }

    var now: Int64 { clock.now().milliseconds }

    /// What a server does each second.
    func sweep() throws {
      try time.measure(database)
      if clock.isAstray { try keep() }
    }

    /// What it does now and then.
    func keep() throws {
      let kept = try time.anchor(of: clock, over: database)
      database.store(kept.anchor)
      time.noteStored(kept, by: clock)
    }
  }

  /// Two servers that have been running for a while.
  private struct SharedTimeFixture {
    let database = Database()
    let servers: [Server]

    init() throws {
      servers = try [Server(database), Server(database)]
      // A computer's clock has confirmed the database's.
      #expect(servers[0].clock.confirm(by: database.unixMilliseconds() / 1_000))
      try servers[0].keep()
      try pass(seconds: 100)
    }

    /// - Returns: service time, which all servers agree on: those that run, and one that starts.
    @discardableResult
    func agreed() throws -> Int64 {
      let times = try (servers + [Server(database)]).map(\.now)
      #expect(Set(times).count == 1)
      return times[0]
    }

    /// Time passes, in which each server looks each second.
    func pass(seconds: Int64) throws {
      for _ in 0..<seconds {
        database.pass(1_000)
        for server in servers {
          let before = server.now
          try server.sweep()
          #expect(server.now >= before)
        }
      }
    }
  }

  // MARK: - Failover

  @Test(arguments: [2 * minute, 10 * minute, 3 * 24 * hour])
  func afterAFailoverToASlowerClockAllServersGoOnTogether(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    let before = try office.agreed()
    office.database.set(by: -step)
    try office.pass(seconds: 1)
    #expect(try (before...before + 1_000).contains(office.agreed()))
    try office.pass(seconds: 100)
    // At most the second until the servers looked is lost.
    #expect(try (before + 100_000...before + 101_000).contains(office.agreed()))
    #expect(office.servers.allSatisfy { $0.clock.standstill() == 0 })
  }

  @Test(arguments: [minute, 2 * minute, 3 * 24 * hour])
  func afterAFailoverToAFasterClockAllServersGoOnTogether(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    let before = try office.agreed()
    office.database.set(by: step)
    try office.pass(seconds: 1)
    #expect(try office.agreed() == before + 1_000 + step)
    try office.pass(seconds: 100)
    #expect(try office.agreed() == before + 101_000 + step)
  }

  /// A server that started took its own start for the beginning of time, and stored it for all.
  @Test(arguments: [-10 * minute, 10 * minute])
  func aServerThatStartsFirstAfterAFailoverHasTheTimeOfTheOthers(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    try office.servers[1].keep()
    office.database.set(by: step)
    let started = try Server(office.database)
    try started.keep()
    try office.pass(seconds: 2)
    try started.sweep()
    #expect(try started.now == office.agreed())
  }

  /// Its own start is not the beginning of time, also not until it looks at the clock the next time.
  @Test(arguments: [-30_000, -10 * minute])
  func aServerThatStartsBehindTheStoredTimeGoesByIt(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    try office.servers[1].keep()
    let stored = try #require(office.database.anchor)
    office.database.set(by: step)
    let started = try Server(office.database)
    office.database.pass(20_000)
    #expect(started.clock.anchor == stored)
    #expect(started.clock.standstill() == -step - 20_000)
    try started.sweep()
    try office.pass(seconds: 1)
    #expect(office.database.anchor?.isSettled == true)
  }

  /// One server has stored a time that the other one has not heard of when the clock is set.
  @Test func noServerIsBehindTheStoredTimeAfterASmallStepBack() throws {
    let office = try SharedTimeFixture()
    office.database.set(by: Self.hour)
    try office.servers[0].keep()
    let kept = office.servers[0].now
    office.database.set(by: -30_000)
    for server in office.servers { try server.sweep() }
    #expect(try office.agreed() == kept)
    try office.pass(seconds: 40)
    #expect(try office.agreed() == kept + 10_000)
  }

  /// Nothing says after less than a minute that the clock is not just being corrected.
  @Test func forASmallStepBackTimeStandsStillAndNoAnchorIsStored() throws {
    let office = try SharedTimeFixture()
    let (before, anchor) = (try office.agreed(), office.database.anchor)
    office.database.set(by: -StorageClock.greatestStep)
    try office.pass(seconds: 59)
    #expect(office.servers.map(\.now) == [before + 1_000, before + 1_000])
    #expect(office.database.anchor == anchor)
    try office.pass(seconds: 11)
    #expect(try office.agreed() == before + 10_000)
  }

  // MARK: - A clock that is wrong, and right again

  @Test(arguments: [hour, year])
  func aClockThatWasAheadForTwoSecondsLeavesServersThatAgreeAndGoOn(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    let before = try office.agreed()
    // One of the servers has not noticed.
    office.database.set(by: step)
    try office.servers[0].keep()
    office.database.pass(2_000)
    office.database.set(by: -step)
    try office.pass(seconds: 2)
    let after = try office.agreed()
    #expect(after >= before + step)
    try office.pass(seconds: 100)
    #expect(try office.agreed() == after + 100_000)
    for server in office.servers {
      #expect(server.clock.wall().milliseconds == office.database.unixMilliseconds())
      #expect(server.clock.standstill() == 0)
    }
  }

  /// Computers' requests are accepted by a clock that is less than five minutes behind, and do not confirm it.
  @Test(arguments: [(hour, 2), (hour, 600), (3 * 24 * hour, 600), (200_000, 2), (200_000, 600)] as [(Int64, Int64)])
  func aClockThatWasBehindEndsNothingWhenItIsRightAgain(_ step: Int64, _ seconds: Int64) throws {
    let office = try SharedTimeFixture()
    let before = try office.agreed()
    office.database.set(by: -step)
    try office.pass(seconds: seconds)
    #expect(!office.servers[0].clock.confirm(by: (office.database.unixMilliseconds() + step) / 1_000))
    try office.servers[0].keep()
    office.database.set(by: step)
    try office.pass(seconds: 100)
    let passed = try office.agreed() - before
    #expect((seconds * 1_000 + 95_000...seconds * 1_000 + 100_000).contains(passed))
  }

  /// A server that starts at that moment does not know what the time was, and has another one. None of the two stores
  /// its anchor again and again.
  @Test func aServerThatStartsWhileTheClockIsSetRightAgreesInTheEnd() throws {
    let office = try SharedTimeFixture()
    office.database.set(by: -Self.hour)
    try office.pass(seconds: 2)
    office.database.set(by: Self.hour)
    let started = try Server(office.database)
    _ = started.now
    try office.pass(seconds: 1)
    try started.keep()
    try office.pass(seconds: 1)
    let anchor = office.database.anchor
    try office.pass(seconds: 100)
    try started.sweep()
    #expect(try started.now == office.agreed())
    #expect(office.database.anchor == anchor)
  }

  /// A database's clock may be a minute off: what passed while nothing ran is made up for all the same.
  @Test func aClockThatWasNotConfirmedYetIsConfirmedByEachAcceptedRequest() throws {
    let database = Database()
    let server = try Server(database)
    #expect(server.clock.confirm(by: database.unixMilliseconds() / 1_000 + 200))
    #expect(!server.clock.confirm(by: database.unixMilliseconds() / 1_000 + 200))
  }

  // MARK: - What is stored

  /// A server of an older version has its own anchor, and a failover may have lost the last one.
  @Test func anEarlierAnchorThatComesBackIsReplacedAndMovesNobody() throws {
    let office = try SharedTimeFixture()
    let earlier = try #require(office.database.anchor)
    office.database.set(by: -Self.hour)
    try office.pass(seconds: 2)
    let before = try office.agreed()
    office.database.store(earlier)
    office.database.pass(1_000)
    try office.servers[1].time.measure(office.database)
    #expect(office.servers[1].now == before + 1_000)
    #expect(office.servers[1].clock.standstill() == 0)
    try office.pass(seconds: 1)
    #expect(try office.agreed() == before + 2_000)
  }

  /// After a move from the other engine, a computer's request says how long the service was off.
  @Test(arguments: [30_000, 12 * hour])
  func whatOneServerWasToldOfTheTimeBeforeIsKnownToAll(_ gap: Int64) throws {
    let database = Database()
    let now = UnixTime(milliseconds: database.unixMilliseconds())
    let off = now.advanced(milliseconds: -gap)
    database.store(
      StorageClock.Anchor(
        bootID: "postgresql", sinceBoot: now.milliseconds, time: off, unixTime: off, isSettled: false))
    let (told, other) = (try Server(database), try Server(database))
    #expect(told.clock.now() == off)
    #expect(told.clock.confirm(by: now.seconds))
    // Another server stores its anchor before the one that knows.
    try other.keep()
    try told.sweep()
    #expect(told.clock.now() == now)
    try told.keep()
    try other.sweep()
    #expect(other.clock.now() == now)
    #expect(database.anchor?.isSettled == true)
    #expect(try Server(database).clock.now() == now)
  }

  /// For people's times. Another server stores its anchor before the one that knows.
  @Test func whatOneServerWasToldOfUnixTimeIsKnownToAll() throws {
    let office = try SharedTimeFixture()
    let (told, other) = (office.servers[0], office.servers[1])
    office.database.set(by: -Self.hour)
    try office.pass(seconds: 2)
    let wall = UnixTime(milliseconds: office.database.unixMilliseconds())
    #expect(told.clock.unixTime(of: told.clock.now()) > wall.advanced(milliseconds: Self.hour - 5_000))
    #expect(told.clock.confirm(by: wall.seconds))
    try other.keep()
    try told.sweep()
    #expect(told.clock.unixTime(of: told.clock.now()) == wall)
    try told.keep()
    try other.sweep()
    #expect(other.clock.unixTime(of: other.clock.now()) == wall)
  }

  // MARK: - What is logged

  @Test(arguments: [-10 * minute, -30_000, 10 * minute])
  func oneServerTellsByHowMuchTimeWasCorrected(_ step: Int64) throws {
    let office = try SharedTimeFixture()
    // The first anchor was not of a confirmed time.
    for server in office.servers { #expect(server.time.takeCorrections().isEmpty) }
    office.database.set(by: step)
    try office.pass(seconds: 5)
    let told = office.servers.flatMap { $0.time.takeCorrections() }
    // After a larger step back time goes on from its last one, which is up to a second old.
    #expect(step == -10 * Self.minute ? told.count == 1 && (-step - 2_000 ... -step).contains(told[0]) : told.isEmpty)
    #expect(office.servers.allSatisfy { $0.time.takeCorrections().isEmpty })
  }
}
