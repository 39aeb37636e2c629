import Foundation
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct RestoredCopyTests {
  private static let year: Int64 = 365 * 86_400

  private func poll(_ fixture: Fixture) throws -> ServiceRequest {
    try fixture.signed("GET", "/authentication/service_mark/\(fixture.application.id)")
  }

  private func mark(_ fixture: Fixture, _ service: SignInService) async throws -> ServiceMark {
    let reply = await service.respond(to: try poll(fixture))
    #expect(reply.status == 200)
    return try #require(ServiceMark(in: reply.body))
  }

  /// Nonces that were used after the copy was made would work again.
  @Test func aCopyIsNotUsedWhileTheClockIsBehindIt() async throws {
    let fixture = try await Fixture()
    let copy = fixture.folder + "/copy"
    try await fixture.service.storage.backUp(to: copy)
    let restored = try fixture.putBack(copy)
    fixture.clock.step(seconds: -3_600)
    await #expect(throws: StorageError.self) { try await restored.storage.beginWithCopy() }
    fixture.clock.step(seconds: 3_600)
    #expect(try await restored.storage.beginWithCopy())
    #expect(try await !restored.storage.beginWithCopy())
  }

  @Test func aClockThatWasAheadKeepsNobodyOutAfterTheNextRestore() async throws {
    let fixture = try await Fixture()
    let copies = [fixture.folder + "/first", fixture.folder + "/second"]
    try await fixture.service.storage.backUp(to: copies[0])
    fixture.clock.step(seconds: Self.year)
    let ahead = try fixture.putBack(copies[0])
    #expect(try await ahead.storage.beginWithCopy())
    fixture.clock.step(seconds: -Self.year)
    #expect(await ahead.respond(to: try poll(fixture)).reason == "NONCE_REPLAYED")
    try await ahead.storage.backUp(to: copies[1])
    let right = try fixture.putBack(copies[1])
    #expect(try await right.storage.beginWithCopy())
    fixture.clock.advance(seconds: 1)
    #expect(await right.respond(to: try poll(fixture)).status == 200)
  }

  /// With one epoch for both, a host could take what one of them forgot for what the other knows.
  @Test func twoRestoresUnderAnEpochFromAClockThatWasAheadHaveTheirOwnEpochs() async throws {
    let fixture = try await Fixture()
    try await fixture.service.storage.write {
      try $0.execute(sql: "UPDATE service_mark SET epoch = epoch + 10 * ?", arguments: [Self.year])
    }
    let before = try await mark(fixture, fixture.service)
    let copy = fixture.folder + "/copy"
    try await fixture.service.storage.backUp(to: copy)
    var epochs: Set<Int64> = []
    for _ in 0..<3 {
      let restored = try fixture.putBack(copy)
      #expect(try await restored.storage.beginWithCopy())
      fixture.clock.advance(seconds: 1)
      epochs.insert(try await mark(fixture, restored).epoch)
    }
    // Three random numbers below 65,536 hardly ever are one.
    #expect(epochs.count > 1)
    #expect(epochs.allSatisfy { $0 > before.epoch })
  }

  /// Whoever follows the audit has the former file open.
  @Test func anotherFileAtThePlaceIsAnotherHistoryOfTheAudit() async throws {
    let room = try await StorageFixture(.sqlite)
    let operators = try #require(room.storage as? any OperatorStore)
    let history = try await operators.auditHistory()
    #expect(try await operators.auditHistory() == history)
    let path = room.folder + "/" + SQLiteStorage.fileName
    try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
    #expect(rename(path + ".copy", path) == 0)
    #expect(try await operators.auditHistory() != history)
  }

  @Test(arguments: StorageEngine.allCases)
  func aDatabaseThatWasMovedAwayHasNoFurtherHistory(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let operators = try #require(room.storage as? any OperatorStore)
    let history = try await operators.auditHistory()
    try await room.execute(
      "INSERT INTO database_move (id, state, place) VALUES ('one', 'moved', $1)", "where everything is now")
    #expect(try await operators.auditHistory() != history)
  }
}
