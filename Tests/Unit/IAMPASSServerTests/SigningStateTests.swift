import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What is not signed, since when, and how that is found.
@Suite struct SigningStateTests {
  private func state(_ office: SigningFixture) async throws -> SigningState {
    try await office.fixture.service.core.signingState()
  }

  private func since(_ office: SigningFixture) async throws -> UnixTime? {
    try await state(office).lists.first?.unsignedSince
  }

  @Test(arguments: StorageEngine.allCases)
  func theFirstChangeAfterTheSignatureTellsTheAge(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob", "eve")
    #expect(try await since(office) == office.now, "nobody has signed since there is a set")
    #expect(try await office.sign() == .signed)
    #expect(try await since(office) == nil)
    office.fixture.clock.advance(seconds: 7_200)
    try await office.list("carol")
    let first = office.now
    office.fixture.clock.advance(seconds: 3_600)
    try await office.list("dora")
    #expect(try await since(office) == first)
    #expect(try await state(office).unsignedSince == first)
    #expect(SigningState.words(since: first, at: office.now) == "; the first is 60 min old")
    #expect(try await office.sign() == .signed)
    #expect(try await since(office) == nil)
    let signed = office.now
    office.fixture.clock.advance(seconds: 60)
    try await office.storage.removeListedUser("eve", of: "shop", at: office.now)
    let removed = try #require(try await since(office))
    // The database notes it by the clock that the service wrote down last.
    #expect(signed <= removed && removed <= office.now)
  }

  @Test(arguments: StorageEngine.allCases)
  func changesOfAdministratorsHaveAnAgeToo(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    #expect(try await state(office).setUnsignedSince == nil)
    office.fixture.clock.advance(seconds: 60)
    let before = office.now
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    office.fixture.clock.advance(seconds: 60)
    #expect(try await state(office).setUnsignedSince == before)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    #expect(try await state(office).unsignedSince == nil)
  }

  @Test func theMetricsSaySinceWhen() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let name = "iampass_unsigned_since_timestamp_seconds"
    #expect(await office.fixture.service.patientMetrics().contains("\n\(name) \(office.now.seconds)\n"))
    #expect(try await office.sign() == .signed)
    #expect(await !office.fixture.service.patientMetrics().contains(name))
  }

  @Test func linesAreComparedAgainOnceTheAuditHasNewsOrAMinuteIsOver() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    #expect(try await state(office).isSigned)
    // No entry of the audit tells of this.
    try await office.fixture.service.storage.write {
      try $0.execute(sql: "UPDATE user SET name = 'other' WHERE id = (SELECT user FROM listed_user)")
    }
    #expect(try await state(office).isSigned)
    office.fixture.clock.advance(seconds: 61)
    #expect(try await state(office).lists.first?.changes.count == 1)
    try await office.list("carol")
    #expect(try await state(office).lists.first?.changes.count == 2)
  }

  @Test func anOrderThatFailsKeepsNoOtherWaiting() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("bob")
    let first = try await office.operators.orderDocument(
      DocumentOrder(.users(application: office.application), by: "ada"), at: office.now)
    try await office.fixture.service.documents.attend()
    try await office.fixture.service.storage.write { try $0.execute(sql: "UPDATE document_order SET document = '{'") }
    _ = try await office.approve()
    let key = try RecoveryKey.generate().publicKey
    let second = try await office.operators.orderDocument(
      DocumentOrder(.administrators(.replace(key)), by: "bo"), at: office.now)
    // The approval was the first try.
    office.fixture.clock.advance(seconds: 1)
    await #expect(throws: (any Error).self) { try await office.fixture.service.documents.attend() }
    #expect(try await office.operators.documentOrder(second) == .asked)
    #expect(try await other.list().count == 1)
    #expect(try await office.outcome(of: first) == nil)
  }

  /// Pages of what differs are made from the parts of both lists that they need.
  @Test(arguments: StorageEngine.allCases)
  func aPhoneIsToldAllThatDiffers(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    // Long enough for two pages.
    func name(_ number: Int) -> String { "user\(number)" + String(repeating: "x", count: 50) }
    for number in 1_000..<2_000 where number % 3 != 0 { try await office.list(name(number)) }
    #expect(try await office.sign() == .signed)
    for number in 1_000..<2_000 where number % 3 == 0 { try await office.list(name(number), groups: ["lab"]) }
    for number in stride(from: 1_000, to: 2_000, by: 3) {
      try await office.list(name(number), groups: ["office"])
    }
    #expect(try await office.order() == .asked)
    let (_, pages) = try await office.document()
    let changed = (1_000..<2_000).filter { $0 % 3 == 1 }.map(name)
    let new = (1_000..<2_000).filter { $0 % 3 == 0 }.map(name)
    #expect(pages.flatMap(\.other).map(\.line.name) == changed)
    #expect(pages.flatMap(\.new) == new)
    #expect(pages.flatMap(\.entries).count == 1_000)
  }
}
