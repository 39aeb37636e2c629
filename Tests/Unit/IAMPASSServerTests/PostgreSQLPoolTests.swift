import DeviceProtocol
import IAMPASSProtocol
import Logging
import PostgreSQLLink
import Synchronization
import Testing

@testable import IAMPASSServer

/// Who waits for whom at a database that is slow.
///
/// One after the other: the threads are the process's, and two tests that each hold some of them would wait for the rest.
@Suite(.serialized) struct PostgreSQLPoolTests {
  /// The numbers of those that had their turn, first to last.
  private final class Order: Sendable {
    private let state = Mutex<[Int]>([])

    var numbers: [Int] { state.withLock(\.self) }
    func add(_ number: Int) { state.withLock { $0.append(number) } }
  }

  @Test func readsNoncesCountersAndHealthChecksGoOnWhileWritesWait() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let nonce = SignedNonce(owner: "web-1", value: "7", forgetAt: room.now.advanced(seconds: 600))
    try await holding(.writing, count: 20, of: storage.pool) { gate in
      #expect(gate.arrivals == 3)
      #expect(storage.pool.waiting(.writing) == 17)
      #expect(try await storage.user("nobody", of: room.application.id) == nil)
      #expect(try await storage.useNonce(nonce, at: room.now))
      #expect(try await storage.count("a", within: 60, at: room.now).failures == 1)
      try await storage.answer()
      #expect(gate.arrivals == 3)
    }
    #expect(storage.pool.waiting(.writing) == 0)
  }

  @Test func aHealthCheckIsAnsweredWhileAllOtherPlacesAreTaken() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    try await holding(.reading, count: 9, of: storage.pool) { _ in
      try await holding(.writing, count: 9, of: storage.pool) { _ in
        try await holding(.nonceUse, count: 9, of: storage.pool) { _ in
          try await holding(.counting, count: 9, of: storage.pool) { _ in try await storage.answer() }
        }
      }
    }
  }

  @Test func eachPlaceHasAThread() async throws {
    let room = try await StorageFixture(.postgresql)
    let pool = try #require(room.storage as? PostgreSQLStorage).pool
    let gate = WorkGate()
    let holders = PostgreSQLPool.Kind.allCases.flatMap { kind in
      (0..<9).map { _ in Task { try await pool.inThread(kind) { _ in gate.wait() } } }
    }
    defer { gate.open() }
    // The manual's number, without the connection for news.
    try await until { gate.arrivals == 14 }
    gate.open()
    for holder in holders { try await holder.value }
  }

  @Test func theFirstThatWaitsHasTheNextPlace() async throws {
    let places = ConcurrencyLimit(1, patience: .seconds(60))
    let order = Order()
    try await places.enter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...3 {
        group.addTask {
          try await places.enter()
          order.add(number)
          places.leave()
        }
        try await until { places.waiting == number }
      }
      places.leave()
      try await group.waitForAll()
    }
    #expect(order.numbers == [1, 2, 3])
  }

  @Test func whatWaitsTooLongIsRefusedWithoutBeingBegun() async throws {
    let places = ConcurrencyLimit(1, patience: .milliseconds(20))
    try await places.enter()
    await #expect(throws: StorageBusy.self) { try await places.enter() }
    places.leave()
    // Nothing is lost: the place is free again.
    try await places.enter()
  }

  @Test func whatNobodyAsksForAgainIsNotRefused() async throws {
    let places = ConcurrencyLimit(1, patience: .milliseconds(20))
    try await places.enter()
    let patient = Task { try await places.enter(isPatient: true) }
    try await until { places.waiting == 1 }
    // It comes later, and has waited too long.
    await #expect(throws: StorageBusy.self) { try await places.enter() }
    #expect(places.waiting == 1)
    places.leave()
    try await patient.value
    #expect(places.free == 0)
  }

  @Test func aReadThatIsCancelledLeavesTheQueue() async throws {
    let places = ConcurrencyLimit(1, patience: .seconds(60))
    try await places.enter()
    let client = Task { try await places.enter() }
    try await until { places.waiting == 1 }
    client.cancel()
    await #expect(throws: CancellationError.self) { try await client.value }
    #expect(places.waiting == 0)
    places.leave()
    try await places.enter()
  }

  @Test func aPlaceComesBackFromWorkThatFailsOrIsCancelled() async throws {
    let room = try await StorageFixture(.postgresql)
    let pool = try #require(room.storage as? PostgreSQLStorage).pool
    for _ in 0..<9 {
      await #expect(throws: StorageBusy.self) { try await pool.inThread(.writing) { _ in throw StorageBusy() } }
    }
    let gate = WorkGate()
    let clients = (0..<9).map { _ in Task { try await pool.inThread(.writing) { _ in gate.wait() } } }
    try await until { gate.arrivals == 3 && pool.waiting(.writing) == 6 }
    for client in clients { client.cancel() }
    try await until { pool.waiting(.writing) == 0 }
    gate.open()
    for client in clients { _ = try? await client.value }
    // All three are free again.
    try await holding(.writing, count: 3, of: pool) { #expect($0.arrivals == 3) }
  }

  @Test func aNonceThatWaitsTooLongIsRefusedAndNotSpent() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try impatient(room.folder, room.clock)
    let nonce = SignedNonce(owner: "web-1", value: "7", forgetAt: room.now.advanced(seconds: 600))
    try await holding(.nonceUse, count: 2, of: storage.pool) { _ in
      await #expect(throws: StorageBusy.self) { try await storage.useNonce(nonce, at: room.now) }
    }
    #expect(try await storage.useNonce(nonce, at: room.now))
  }

  @Test func aNonceWithoutATurnIsRefusedInTime() async throws {
    let waiting = NonceUseQueue(greatestTurns: 1, patience: .milliseconds(20))
    let now = UnixTime(seconds: 1_000_000)
    // The first has the turn, and does not take it.
    for hasTurn in [true, false] {
      let task = Task {
        try await withCheckedThrowingContinuation { continuation in
          let nonceUse = NonceUse(nonce: SignedNonce(owner: "a", value: "\(hasTurn)", forgetAt: now), now: now)
          #expect(waiting.add(nonceUse, continuation) == hasTurn)
        }
      }
      if hasTurn {
        try await until { waiting.count == 1 }
      } else {
        await #expect(throws: StorageBusy.self) { try await task.value }
      }
    }
    #expect(waiting.take().isEmpty)
    #expect(!waiting.endTurn())
  }

  @Test func aWriteThatWaitsTooLongIsAnsweredWith503AndThenAskedAgain() async throws {
    let fixture = try await Fixture(engine: .postgresql)
    let storage = try impatient(fixture.folder, fixture.clock)
    let service = quiet(storage)
    let path = "/management/add_users/\(fixture.application.id)"
    let body = UsersRequest(users: ["alice"]).encoded()
    try await holding(.writing, count: 3, of: storage.pool) { _ in
      let reply = await service.respond(to: try fixture.signed("POST", path, body))
      #expect(reply.status == 503)
      #expect(reply.headers.contains { $0.name == "Retry-After" && $0.value == "2" })
    }
    #expect(try await storage.user("alice", of: fixture.application.id) == nil)
    #expect(await service.respond(to: try fixture.signed("POST", path, body)).status == 201)
  }

  @Test func aPageWhoseLookHasNoTurnIsToldLater() async throws {
    let fixture = try await Fixture(engine: .postgresql)
    let phone = try await TestPhone.registered(in: fixture)
    let storage = try impatient(fixture.folder, fixture.clock)
    let service = quiet(storage)
    let reply = await service.respond(to: TestPhone.request(DeviceRoute.events, try phone.askBody(.events)))
    let source = try #require(reply.events)
    _ = try #require(await source.next())
    _ = try await fixture.started("alice")
    let told = Mutex<Task<[UInt8]?, Never>?>(nil)
    try await holding(.reading, count: 6, of: storage.pool) { _ in
      service.board.changedAll()
      told.withLock { $0 = Task { await source.next() } }
      try await until { failures(of: service) > 0 }
    }
    service.board.changedAll()
    let piece = try #require(await told.withLock(\.self)?.value)
    #expect(String(decoding: piece, as: UTF8.self).contains("event: requests"))
  }

  @Test func aWriteIsDoneAlsoIfItsClientIsGone() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    let client = Mutex<Task<Void, any Error>?>(nil)
    try await holding(.writing, count: 3, of: storage.pool) { _ in
      let asking = Task { _ = try await storage.addUsers(["alice"], to: room.application.id) }
      client.withLock { $0 = asking }
      try await until { storage.pool.waiting(.writing) == 1 }
      asking.cancel()
    }
    try await client.withLock(\.self)?.value
    #expect(try await storage.user("alice", of: room.application.id) != nil)
  }

  @Test func aHealthCheckHasAConnectionThatIsKept() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    try await storage.answer()
    #expect(storage.health.pool.idleCount == 1)
    // Other work neither closes it nor uses it.
    storage.pool.closeAll()
    #expect(try await storage.user("nobody", of: room.application.id) == nil)
    #expect(storage.health.pool.idleCount == 1)
    #expect(storage.pool.idleCount == 1)
  }

  @Test func aHealthCheckGetsANewConnectionForOneThatWasLost() async throws {
    let room = try await StorageFixture(.postgresql)
    let storage = try #require(room.storage as? PostgreSQLStorage)
    try await storage.answer()
    let own = try storage.health.pool.lend { try process(of: $0) }
    let ended = try connection(room.folder).ask([
      PostgreSQLCall("SELECT pg_terminate_backend($1::int)::int::int8", .integer(own))
    ])
    #expect(try ended[0].first?.integer(0) == 1)
    try await storage.answer()
    #expect(try storage.health.pool.lend { try process(of: $0) } != own)
  }

  @Test func anOverloadIsToldApartFromAnOutage() async throws {
    let room = try await StorageFixture(.postgresql)
    #expect(room.storage.trouble(behind: StorageBusy()) == .busy)
  }

  @Test func whoFailsWhileFailuresAreTooManyToCountIsToldToWait() async {
    let now = UnixTime(seconds: 1_000_000)
    #expect(await FailureLimits().note(.registration, from: "192.0.2.1", with: Crowd(StorageBusy()), at: now) != nil)
    #expect(await PollPace().isTooFast("a", with: Crowd(StorageBusy()), at: now))
    // A database that does not answer is another matter: this server counts by itself.
    let down = Crowd(PostgreSQLError(.notConnected, detail: ""))
    #expect(await FailureLimits().note(.registration, from: "192.0.2.1", with: down, at: now) == nil)
    #expect(await !PollPace().isTooFast("a", with: down, at: now))
  }

  /// Counters that cannot be counted.
  private struct Crowd: SharedLimits {
    let error: any Error
    init(_ error: any Error) { self.error = error }

    func count(_ key: String, within window: Int64, at now: UnixTime) async throws -> (failures: Int, end: UnixTime) {
      throw error
    }

    func isTooFast(_ request: String, at now: UnixTime) async throws -> Bool { throw error }
  }

  /// A server on the same database that refuses soon what has no turn.
  private func impatient(_ folder: String, _ clock: TestClock) throws -> PostgreSQLStorage {
    try PostgreSQLStorage(
      url: StorageEngine.url(of: folder), clocks: clock.clocks, isMoving: false, patience: .milliseconds(20))
  }

  private func quiet(_ storage: PostgreSQLStorage) -> SignInService {
    SignInService(on: storage, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// How often the storage failed the service's requests.
  private func failures(of service: SignInService) -> Int {
    let text = service.core.metrics.text(
      nil, signing: nil, unsignedSince: nil, load: service.core.storage.load, held: 0, holdsHousekeeperLease: false,
      certificateEnd: nil, file: .elsewhere)
    let line = text.split(separator: "\n").first { $0.hasPrefix("iampass_storage_failures_total ") }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }

  private func connection(_ folder: String) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }

  /// The number of the database's process for the connection.
  private func process(of connection: PostgreSQLConnection) throws -> Int64 {
    try #require(try connection.ask([PostgreSQLCall("SELECT pg_backend_pid()::int8")])[0].first?.integer(0))
  }

  /// Does `body` while so much work of a kind as `count` says has its place, or waits for one.
  private func holding(
    _ kind: PostgreSQLPool.Kind, count: Int, of pool: PostgreSQLPool, _ body: (WorkGate) async throws -> Void
  ) async throws {
    let gate = WorkGate()
    let holders = (0..<count).map { _ in Task { try await pool.inThread(kind) { _ in gate.wait() } } }
    defer { gate.open() }
    // All of them have come.
    try await until { gate.arrivals + pool.waiting(kind) == count }
    try await body(gate)
    gate.open()
    for holder in holders { try await holder.value }
  }

  /// Waits for what other tasks do, ten minutes at most.
  private func until(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<60_000 where try !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    try #require(try isSo())
  }
}
