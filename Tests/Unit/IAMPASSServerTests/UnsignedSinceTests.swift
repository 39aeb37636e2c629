import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Since when something is not signed, where the audit alone does not tell.
@Suite struct UnsignedSinceTests {
  /// As the storage has it, without what the service remembers.
  private func state(_ office: SigningFixture) async throws -> SigningState {
    try await office.operators.signingState()
  }

  private func since(_ office: SigningFixture) async throws -> UnixTime? {
    try await state(office).lists.first { $0.application == office.application }?.unsignedSince
  }

  /// A service whose list has bob, and is signed; a minute later.
  private func signed(_ engine: StorageEngine = .sqlite) async throws -> SigningFixture {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    office.fixture.clock.advance(seconds: 60)
    return office
  }

  @Test func nobodyKnowsSinceWhenAListOfAnotherEpochIsNotSigned() async throws {
    let office = try await signed()
    try await office.list("carol")
    let now = office.now
    try await office.fixture.service.storage.write { try HistoryMark.beginEpoch(at: now, in: $0) }
    #expect(try await state(office).lists.first?.isOfOtherEpoch == true)
    #expect(try await since(office) == nil)
  }

  @Test func aListWhoseSignerIsGoneIsUnsignedSinceTheSet() async throws {
    let office = try await signed()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("carol")
    office.fixture.clock.advance(seconds: 60)
    _ = try await office.storage.setAdministrator("ada", role: .auditor, keepsOne: true, at: office.now)
    #expect(try await office.sign(.administrators(.keep), by: other, called: "bo") == .signed)
    let set = office.now
    office.fixture.clock.advance(seconds: 60)
    #expect(try await since(office) == set)
  }

  /// The audit is kept for a time only.
  @Test func withoutAnEntryTheSignatureIsTheOldestThatItCanBe() async throws {
    let office = try await signed()
    try await office.list("carol")
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    try await office.fixture.service.storage.write { try $0.execute(sql: "DELETE FROM audit") }
    let last = try #require(try await state(office).lists.first?.signedAt)
    #expect(try await since(office) == last && last < office.now)
    let set = try #require(try await office.operators.administratorSets().last)
    #expect(try await state(office).setUnsignedSince == set.madeAt && set.madeAt < office.now)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatComesOrGoesIsAChange(_ engine: StorageEngine) async throws {
    let office = try await signed(engine)
    let code = try #require(
      try await office.storage.invitation(ofListed: "bob", of: "shop", isFurther: false, at: office.now))
    #expect(try await TestPhone.register(in: office.fixture, code: code, key: try DeviceKey.generate()).status == 200)
    #expect(try await since(office) == office.now)
  }

  /// A misspelt one would be found a minute later, and never be the first change.
  @Test func theDatabaseNotesEachEvent() async throws {
    let office = try await SigningFixture()
    let triggers = try await office.fixture.service.storage.read {
      try String.fetchAll($0, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger'").joined()
    }
    for event in SigningEvent.allCases { #expect(triggers.contains("'\(event.rawValue)'")) }
    #expect(!triggers.contains("'no event'"))
  }
}
