import IAMPASSProtocol
import LocalPostgreSQL
import Logging
import PostgreSQLLink
import Synchronization
import Testing

@testable import IAMPASSServer

/// Servers on one PostgreSQL whose clock is set: the rule of ``SharedTimeTests`` with the statements that do it.
@Suite struct PostgreSQLSharedTimeTests {
  private static let hour: Int64 = 3_600_000
  /// By how much service time may go on besides, in milliseconds: far less than the clock was set by.
  private static let leeway: Int64 = 600_000

  /// A database with a clock that can be set: its schema's function comes before PostgreSQL's.
  private struct Database {
    let url: String
    private let began = ContinuousClock.now

    /// How far apart readings of the clock may be, in milliseconds: as long as the test has taken, since the clock goes
    /// on. One more second is for what is rounded.
    var slack: Int64 { Int64((ContinuousClock.now - began) / .milliseconds(1)) + 1_000 }

    init() throws {
      url = try StorageEngine.url(of: "/room-" + (try #require(Digest.randomIdentifier()))) + "%2Cpg_catalog"
      try connection().run(
        script: """
          CREATE TABLE clock_step (milliseconds bigint NOT NULL);
          INSERT INTO clock_step VALUES (0);
          CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
            SELECT pg_catalog.clock_timestamp() + (SELECT milliseconds FROM clock_step) * interval '1 millisecond'
          $$;
          """)
    }

    func connection() throws -> PostgreSQLConnection {
      try PostgreSQLConnection(to: PostgreSQLAddress(validating: url))
    }

    func server() throws -> PostgreSQLStorage {
      try PostgreSQLStorage(url: url, isMoving: false, patience: .seconds(600))
    }

    func set(by milliseconds: Int64) throws {
      try connection().run([
        PostgreSQLCall("UPDATE clock_step SET milliseconds = milliseconds + $1", .integer(milliseconds))
      ])
    }

    func anchor() throws -> StorageClock.Anchor? { try connection().time().anchor }
  }

  /// How far the servers' times are apart.
  private static func spread(_ servers: [PostgreSQLStorage]) -> Int64 {
    let times = servers.map { $0.now().milliseconds }
    return (times.max() ?? 0) - (times.min() ?? 0)
  }

  @Test(arguments: [-hour, hour]) func aServerThatStartsAfterAFailoverHasTheTimeOfThoseThatRan(_ step: Int64)
    async throws
  {
    let database = try Database()
    var servers = try [database.server(), database.server()]
    for server in servers { try await server.keepTime() }
    let before = servers[0].now()
    try database.set(by: step)
    for server in servers { try server.sweep() }
    servers.append(try database.server())
    for server in servers { try await server.keepTime() }
    servers.append(try database.server())
    #expect(Self.spread(servers) < database.slack)
    let passed = servers[0].now().milliseconds(since: before)
    #expect((-database.slack..<database.slack + Self.leeway).contains(passed - max(step, 0)))
    for server in servers { #expect(server.clock.standstill() < database.slack) }
  }

  /// No other server has looked at the clock since it was set. A start once stored an anchor of its own.
  @Test(arguments: [-hour, -50_000]) func aServerThatStartsBehindTheStoredTimeStoresNothing(_ step: Int64) async throws
  {
    let database = try Database()
    let server = try database.server()
    #expect(server.clock.confirm(by: server.clock.wall().seconds))
    try await server.keepTime()
    let stored = try #require(try database.anchor())
    #expect(stored.isSettled)
    try database.set(by: step)
    let started = try database.server()
    #expect(try database.anchor() == stored)
    #expect(started.clock.standstill() > 0)
    try started.sweep()
    #expect(try database.anchor()?.isSettled == true)
  }

  @Test func whatOneServerWasToldIsNotLostIfAnotherOneStoresFirst() async throws {
    let database = try Database()
    let servers = try [database.server(), database.server()]
    #expect(try database.anchor()?.isSettled == false)
    #expect(servers[0].clock.confirm(by: servers[0].clock.wall().seconds))
    try await servers[1].keepTime()
    #expect(try database.anchor()?.isSettled == false)
    try servers[0].sweep()
    try await servers[0].keepTime()
    #expect(try database.anchor()?.isSettled == true)
    try servers[1].sweep()
    #expect(servers[1].clock.anchor.isSettled)
  }

  @Test func noServerIsBehindTheStoredTimeAfterASmallStepBack() async throws {
    let database = try Database()
    let servers = try [database.server(), database.server()]
    try database.set(by: Self.hour)
    try await servers[0].keepTime()
    try database.set(by: -StorageClock.greatestStep + 5_000)
    for server in servers { try server.sweep() }
    let stored = try #require(try database.anchor()).time
    for server in servers { #expect(server.now() >= stored) }
    #expect(Self.spread(servers) < database.slack)
  }

  @Test func theListenerNoticesThatTheClockWasSetAndStoresWhatAllGoOnBy() async throws {
    let database = try Database()
    let server = try database.server()
    let listener = try #require(server.changeListener)
    _ = try await listener.events()
    let before = try #require(try database.anchor())
    try database.set(by: -Self.hour)
    var events: [ServerEvent] = []
    for _ in 0..<3 { events += try await listener.events() }
    let steps = events.compactMap { event -> Int64? in if case .clockStepped(let step) = event { step } else { nil } }
    #expect(steps.count == 1 && steps.allSatisfy { ($0 + Self.hour).magnitude < database.slack })
    let told = events.compactMap { event -> Int64? in if case .timeCorrected(let by) = event { by } else { nil } }
    #expect(told.count == 1 && told.allSatisfy { ($0 - Self.hour).magnitude < database.slack })
    let after = try #require(try database.anchor())
    let moved = after.time.milliseconds - after.sinceBoot - (before.time.milliseconds - before.sinceBoot)
    #expect((moved - Self.hour).magnitude < database.slack)
    #expect(server.clock.standstill() < database.slack)
  }

  @Test func theLogHasTheStepAndTheCorrection() async throws {
    let database = try Database()
    let server = try database.server()
    let lines = LoggedLines()
    let service = SignInService(on: server, publicURL: nil, logger: Logger(label: "test") { _ in lines })
    let following = Task { _ = await service.followOtherServers() }
    try database.set(by: -Self.hour)
    for _ in 0..<600 where lines.all.count < 2 { try await Task.sleep(for: .milliseconds(100)) }
    following.cancel()
    #expect(lines.all.count == 2)
    #expect(lines.all.first?.wholeMatch(of: /warning: the database's clock was set step=-3\d{6} ms/) != nil)
    #expect(
      lines.all.last?.wholeMatch(
        of: /notice: the service's time was corrected against the database's clock by=3\d{6} ms/) != nil)
  }

  /// Otherwise proxies sent requests to a service in which nothing ends.
  @Test func aServiceIsNotReadyUntilTimeGoesOn() async throws {
    let database = try Database()
    let server = try database.server()
    let service = SignInService(
      on: server, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    #expect(try await service.unreadiness() == nil)
    let other = try database.connection()
    _ = try other.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE"),
    ])
    try database.set(by: -Self.hour)
    // It waits for its turn, and does without.
    try server.sweep()
    #expect(try await service.unreadiness()?.contains("clock") == true)
    other.rollBack()
    try server.sweep()
    #expect(try await service.unreadiness() == nil)
  }

  @Test(arguments: [-hour, hour, 3 * 24 * hour]) func aSpentNonceStaysSpentWhileServiceTimeMoves(_ step: Int64)
    async throws
  {
    let database = try Database()
    let servers = try [database.server(), database.server()]
    func nonce(_ value: String) -> SignedNonce {
      let stamp = servers[0].clock.wall().advanced(seconds: value == "new" ? 1 : 0)
      return SignedNonce(owner: "host:a", value: value, forgetAt: stamp.advanced(seconds: SignedNonce.lifetime))
    }
    let used = nonce("1")
    #expect(try await servers[0].useNonce(used, at: servers[0].now()))
    for set in [step, -step] {
      try database.set(by: set)
      for server in servers {
        try server.sweep()
        _ = try await server.forgetOld(.nonces, at: server.now(), wall: server.clock.wall())
        #expect(try await !server.useNonce(used, at: server.now()))
      }
    }
    #expect(try await servers[1].useNonce(nonce("new"), at: servers[1].now()))
  }

  /// As a server of an older version stores it.
  @Test func anEarlierAnchorThatComesBackMovesNobody() async throws {
    let database = try Database()
    let server = try database.server()
    let earlier = try #require(try database.anchor())
    try database.set(by: -Self.hour)
    try server.sweep()
    let before = server.now()
    try await server.write { try earlier.store(in: $0) }
    let started = try database.server()
    for one in [server, started] { try one.sweep() }
    try started.sweep()
    #expect(Self.spread([server, started]) < database.slack)
    #expect(server.now() >= before)
    #expect(try await server.unreadiness == nil)
  }
}

extension PostgreSQLStorage {
  /// What the listener does with the clock each second.
  fileprivate func sweep() throws {
    try pool.lend { try time.measure($0) }
    time.mend(by: pool)
  }

  fileprivate var unreadiness: String? {
    get async throws {
      try await SignInService(
        on: self, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      ).unreadiness()
    }
  }
}

/// Keeps lines about the database's clock and the service's time.
private final class LoggedLines: LogHandler, Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }

  // Those of the logger itself are not used.
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .info }
    set {}
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    guard let (name, value) = event.metadata?.first(where: { ["step", "by"].contains($0.key) }) else { return }
    lines.withLock { $0.append("\(event.level): \(event.message) \(name)=\(value)") }
  }
}
