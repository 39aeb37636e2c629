import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// The thread that renews the housekeeper's row goes on if the housekeeping itself hangs.
@Suite struct HousekeeperStallTests {
  /// A server as its lease sees it.
  private final class Server {
    let lease: PostgreSQLHousekeeperLease
    private let connection: PostgreSQLConnection
    private let begin: ContinuousClock.Instant
    private var hasLock = false

    init(in room: StorageFixture, from begin: ContinuousClock.Instant) throws {
      lease = try PostgreSQLHousekeeperLease()
      connection = try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
      self.begin = begin
    }

    /// Whether it does the housekeeping, so long after the beginning.
    func holds(after time: Duration) throws -> Bool {
      try lease.renewOrTake(by: connection, hasLock: &hasLock, at: begin + time)
    }

    func getsOn(after time: Duration) { lease.noteProgress(at: begin + time) }
  }

  private static let stall = PostgreSQLHousekeeperLease.longestStall
  private static let rest = PostgreSQLHousekeeperLease.rest
  private static let second = Duration.seconds(1)

  @Test func aKeeperThatGetsNowhereIsReplacedByAServerThatLives() async throws {
    let room = try await StorageFixture(.postgresql)
    let begin = ContinuousClock.now
    let (stuck, other) = (try Server(in: room, from: begin), try Server(in: room, from: begin))
    #expect(try stuck.holds(after: .zero) && !other.holds(after: .zero))
    stuck.getsOn(after: Self.second)
    let end = Self.second + Self.stall
    #expect(try stuck.holds(after: end) && !other.holds(after: end))
    #expect(!stuck.lease.takeStall())
    let later = end + Self.second
    // Its connection lives, and it has renewed the row a moment ago.
    #expect(try !stuck.holds(after: later) && other.holds(after: later))
    #expect(stuck.lease.takeStall() && !stuck.lease.takeStall())
    let afterwards = later + Self.rest
    #expect(try !stuck.holds(after: afterwards) && other.holds(after: afterwards))
    other.getsOn(after: afterwards)
    let last = afterwards + Self.stall
    #expect(try !stuck.holds(after: last) && other.holds(after: last))
  }

  @Test func aKeeperThatIsAloneTriesAgainAfterARest() async throws {
    let room = try await StorageFixture(.postgresql)
    let only = try Server(in: room, from: .now)
    #expect(try only.holds(after: .zero))
    let stalled = Self.stall + Self.second
    #expect(try !only.holds(after: stalled))
    #expect(try !only.holds(after: stalled + Self.rest - Self.second))
    #expect(try only.holds(after: stalled + Self.rest))
    #expect(try only.holds(after: stalled + Self.rest + Self.stall))
  }

  @Test func whatTheHousekeepingWritesIsProgress() async throws {
    struct Broken: Error {}
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    #expect(storage.lease.progress == nil)
    _ = try await storage.listener.events()
    let begun = try #require(storage.lease.progress)
    try await storage.write { _ in }
    #expect(storage.lease.progress == begun)
    try await HousekeeperDuty.$isOn.withValue(true) {
      await #expect(throws: Broken.self) { try await storage.write { _ -> Void in throw Broken() } }
      #expect(storage.lease.progress == begun)
      try await storage.write { _ in }
    }
    let later = try #require(storage.lease.progress)
    #expect(later > begun)
  }
}
