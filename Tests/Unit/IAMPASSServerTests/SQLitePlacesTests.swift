import Foundation
import IAMPASSProtocol
import LocalPostgreSQL
import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// Who waits for whom at a file that is slow.
@Suite(.serialized) struct SQLitePlacesTests {
  @Test(.timeLimit(.wholeRun)) func aRequestBehindAWriterThatIsHeldIsAnsweredWith503AndThenAskedAgain() async throws {
    let fixture = try await Fixture()
    let storage = try impatient(fixture)
    let service = quiet(storage)
    let path = "/management/add_users/\(fixture.application.id)"
    let body = UsersRequest(users: ["alice"]).encoded()
    try await holdingWrites(of: storage) {
      // Its signature's nonce has the only turn, and the turn does not come.
      let reply = await service.respond(to: try fixture.signed("POST", path, body))
      #expect(reply.status == 503)
      #expect(reply.headers.contains { $0.name == "Retry-After" && $0.value == "2" })
      #expect(await service.respond(to: Self.health).status == 200)
      #expect(try await service.unreadiness() == nil)
    }
    #expect(storage.load[.nonce].refused.count == 1)
    #expect(try await storage.user("alice", of: fixture.application.id) == nil)
    #expect(await fixture.respond(try fixture.signed("POST", path, body)).status == 201)
  }

  @Test(.timeLimit(.wholeRun)) func aWriteThatWaitsTooLongIsRefusedWithoutBeingBegunAndReadsGoOn() async throws {
    let fixture = try await Fixture()
    let storage = try impatient(fixture)
    let id = fixture.application.id
    try await holdingWrites(of: storage) {
      await #expect(throws: StorageBusy.self) { _ = try await storage.addUsers(["alice"], to: id) }
      let found = try await storage.user("alice", of: id)
      #expect(found == nil)
    }
    #expect(storage.load[.write].refused.count == 1)
    #expect(try await storage.user("alice", of: id) == nil)
    #expect(storage.trouble(behind: StorageBusy()) == .busy)
    // Nothing is lost: all places are free again.
    #expect(storage.places.writing.free == SQLitePlaces.writes)
    _ = try await storage.addUsers(["alice"], to: id)
  }

  @Test(.timeLimit(.wholeRun)) func aReadThatWaitsTooLongIsRefusedAndHealthChecksAndWritesGoOn() async throws {
    let fixture = try await Fixture()
    let storage = try impatient(fixture)
    let service = quiet(storage)
    let gate = WorkGate()
    let holders = (0..<SQLitePlaces.reads).map { _ in Task { try await storage.read { _ in gate.wait() } } }
    defer { gate.open() }
    try await until { gate.arrivals == SQLitePlaces.reads }
    await #expect(throws: StorageBusy.self) { _ = try await storage.user("alice", of: fixture.application.id) }
    #expect(storage.load[.read].refused.count == 1)
    #expect(await service.respond(to: Self.health).status == 200)
    #expect(try await service.unreadiness() == nil)
    _ = try await storage.addUsers(["alice"], to: fixture.application.id)
    gate.open()
    for holder in holders { try await holder.value }
    #expect(try await storage.user("alice", of: fixture.application.id) != nil)
  }

  @Test(.timeLimit(.wholeRun)) func housekeepingWaitsForItsTurnHoweverLongThatTakes() async throws {
    let fixture = try await Fixture()
    let storage = try impatient(fixture)
    let service = quiet(storage)
    let round = Mutex<Task<Void, any Error>?>(nil)
    try await holdingWrites(of: storage) {
      let task = Task { try await service.tidy() }
      round.withLock { $0 = task }
      try await until { storage.places.writing.waiting == 1 }
      // It comes later, and has waited too long.
      await #expect(throws: StorageBusy.self) { _ = try await storage.addUsers(["alice"], to: "shop") }
      #expect(storage.places.writing.waiting == 1)
    }
    try await round.withLock(\.self)?.value
    #expect(storage.load[.write].refused.count == 1)
  }

  @Test func aHealthCheckFailsWithTheFileAndAfterItsEnd() async throws {
    let folder = TestFolder.path + "/iampass-health-" + (try #require(Digest.randomIdentifier()))
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try EmptyDatabase.put(in: folder)
    let storage = try SQLiteStorage(folder: folder, clocks: TestClock().clocks)
    try await storage.answer()
    try await storage.write { try $0.execute(sql: "DROP TABLE push_key") }
    await #expect(throws: (any Error).self) { try await storage.answer() }
    try storage.close()
    await #expect(throws: (any Error).self) { try await storage.answer() }
  }

  @Test func aServerHasItsConnectionForHealthChecksBeforeTheFirstRequest() async throws {
    let fixture = try await Fixture()
    let storage = try impatient(fixture)
    #expect(!storage.health.isConnected)
    try await storage.showServer()
    #expect(storage.health.isConnected)
  }

  private static let health = ServiceRequest(method: "GET", target: "/healthz", authority: Fixture.authority)

  /// A server on the same file that refuses soon what has no turn.
  private func impatient(_ fixture: Fixture) throws -> SQLiteStorage {
    try SQLiteStorage(
      folder: fixture.folder, clocks: fixture.clock.clocks, isMoving: false, patience: .milliseconds(20))
  }

  private func quiet(_ storage: SQLiteStorage) -> SignInService {
    SignInService(on: storage, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Does `body` while one write holds the writer, and two others have the places behind it.
  private func holdingWrites(of storage: SQLiteStorage, _ body: () async throws -> Void) async throws {
    let gate = WorkGate()
    let holders = (0..<SQLitePlaces.writes).map { _ in Task { try await storage.write { _ in gate.wait() } } }
    defer { gate.open() }
    try await until { gate.arrivals == 1 && storage.places.writing.free == 0 }
    try await body()
    gate.open()
    for holder in holders { try await holder.value }
  }

  /// Waits for what other tasks do, ten minutes at most.
  private func until(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<60_000 where try !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    try #require(try isSo())
  }
}
