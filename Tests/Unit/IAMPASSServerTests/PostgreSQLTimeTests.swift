import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// The clock of the database's machine is set, and comes back.
@Suite struct PostgreSQLTimeTests {
  private static let start: Int64 = 1_800_000_000_000
  private static let hour: Int64 = 3_600_000

  /// A database's clock, and this machine's, by which time passes.
  private final class Clocks: DatabaseClock, Sendable {
    private let state = Mutex((database: PostgreSQLTimeTests.start, own: Int64(5_000)))

    func unixMilliseconds() -> Int64 { state.withLock { $0.database } }
    func time() -> DatabaseTime { DatabaseTime(unixMilliseconds: unixMilliseconds()) }
    var own: Int64 { state.withLock { $0.own } }
    func set(by milliseconds: Int64) { state.withLock { $0.database += milliseconds } }

    func pass(_ milliseconds: Int64) {
      state.withLock { $0 = (database: $0.database + milliseconds, own: $0.own + milliseconds) }
    }
  }

  private struct TimeFixture {
    let database = Clocks()
    let time: PostgreSQLTime
    let clock: StorageClock

    init() throws {
      time = PostgreSQLTime { [database] in database.own }
      try time.measure(database)
      clock = StorageClock(time.clocks, stored: nil)
    }

    /// The database's clock is wrong for a second.
    ///
    /// - Parameter clock: the one that is asked meanwhile; nil: its own.
    func leap(_ milliseconds: Int64, asking clock: StorageClock? = nil) throws {
      database.set(by: milliseconds)
      try time.measure(database)
      _ = (clock ?? self.clock).now()
      database.pass(1_000)
      database.set(by: -milliseconds)
      try time.measure(database)
    }
  }

  @Test func aClockThatWasAnHourAheadForASecondIsRightAgainForStamps() throws {
    let office = try TimeFixture()
    try office.leap(Self.hour)
    #expect(office.clock.wall() == UnixTime(milliseconds: Self.start + 1_000))
  }

  @Test func serviceTimeStandsStillUntilTheClockHasComeToItAgain() throws {
    let office = try TimeFixture()
    try office.leap(Self.hour)
    let stopped = office.clock.now()
    #expect(office.clock.standstill() == Self.hour - 1_000)
    office.database.pass(Self.hour - 1_000)
    #expect(office.clock.now() == stopped)
    office.database.pass(2_000)
    #expect(office.clock.now() == stopped.advanced(milliseconds: 2_000))
    #expect(office.clock.standstill() == 0)
  }

  @Test func eachStepIsToldOnce() throws {
    let office = try TimeFixture()
    #expect(office.time.takeSteps().isEmpty)
    try office.leap(PostgreSQLTime.toldStep)
    #expect(office.time.takeSteps() == [PostgreSQLTime.toldStep, -PostgreSQLTime.toldStep])
    #expect(office.time.takeSteps().isEmpty)
  }

  @Test func aSmallCorrectionIsFollowedAndNotTold() throws {
    let office = try TimeFixture()
    office.database.set(by: PostgreSQLTime.toldStep - 1)
    try office.time.measure(office.database)
    #expect(office.time.takeSteps().isEmpty)
    #expect(office.clock.wall() == UnixTime(milliseconds: Self.start + PostgreSQLTime.toldStep - 1))
  }

  @Test func aServiceWhoseTimeStandsStillIsNotReady() async throws {
    let office = try TimeFixture()
    let room = try await StorageFixture(.sqlite)
    let storage = try SQLiteStorage(folder: room.folder + "/clock", clocks: office.time.clocks)
    let service = SignInService(
      on: storage, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    #expect(try await service.unreadiness() == nil)
    try office.leap(SignInService.longestStandstill + 1_001, asking: storage.clock)
    #expect(try await service.unreadiness()?.contains("clock") == true)
    office.database.pass(1_001)
    #expect(try await service.unreadiness() == nil)
  }
}
