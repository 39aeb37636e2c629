import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Another administrator signs while a phone is asked.
@Suite struct OvertakenOrderTests {
  /// Ada's phone is asked to sign what bo's has overtaken.
  private struct Race {
    let office: SigningFixture
    let other: TestPhone
    let order: String

    init(_ engine: StorageEngine = .sqlite) async throws {
      office = try await SigningFixture(engine)
      other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
      #expect(try await office.sign(.administrators(.keep)) == .signed)
      try await office.list("bob")
      order = try await office.operators.orderDocument(
        DocumentOrder(.users(application: office.application), by: "ada"), at: office.now)
      try await attend()
      try await office.list("carol")
    }

    func attend() async throws { try await office.fixture.service.documents.attend() }

    /// The other phone is asked for the list of this moment, and something more changes before it signs.
    func overtake(leaving name: String) async throws {
      let order = DocumentOrder(.users(application: office.application), by: "bo")
      _ = try await office.operators.orderDocument(order, at: office.now)
      try await attend()
      try await office.list(name)
      try await office.approve(by: other)
    }

    /// The session of the phone's only request; nil without one.
    func asked() async throws -> String? {
      let open = try await office.phone.list()
      #expect(open.count <= 1)
      return open.first?.session
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func thePhoneIsAskedAgainForTheListAsItIs(_ engine: StorageEngine) async throws {
    let race = try await Race(engine)
    let former = try #require(try await race.asked())
    try await race.overtake(leaving: "dora")
    try await race.attend()
    let again = try #require(try await race.asked())
    #expect(again != former)
    // Only once.
    for _ in 0..<3 { try await race.attend() }
    #expect(try await race.asked() == again)
    #expect(try await race.office.document().pages.flatMap(\.entries).map(\.line.name) == ["bob", "carol", "dora"])
    try await race.office.approve()
    #expect(try await race.office.outcome(of: race.order) == .signed)
    #expect(try await race.office.whole(administrators: 2).map(\.name) == ["bob", "carol", "dora"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aSignatureThatCameTooLateIsAskedForAgain(_ engine: StorageEngine) async throws {
    let race = try await Race(engine)
    let former = try await race.asked()
    try await race.overtake(leaving: "dora")
    try await race.office.approve()
    #expect(try await race.office.whole(administrators: 2).map(\.name) == ["bob", "carol"])
    #expect(try await race.office.storage.liveSessions().isEmpty, "the stale approval leaves nothing signed in")
    #expect(try await race.asked() != former)
    try await race.office.approve()
    #expect(try await race.office.outcome(of: race.order) == .signed)
    #expect(try await race.office.storage.liveSessions().isEmpty)
  }

  @Test func nobodyIsAskedAgainForWhatIsSigned() async throws {
    let race = try await Race()
    #expect(try await race.office.sign(by: race.other, called: "bo") == .signed)
    try await race.attend()
    #expect(try await race.asked() == nil)
    #expect(try await race.office.outcome(of: race.order) == .nothing)
  }

  @Test func thePhoneIsNotAskedAgainForEver() async throws {
    let race = try await Race()
    var rounds: Int64 = 0
    while try await race.office.outcome(of: race.order) == nil, rounds < 20 {
      try await race.overtake(leaving: "user\(rounds)")
      race.office.fixture.clock.advance(seconds: 50)
      try await race.attend()
      rounds += 1
    }
    #expect(rounds * 50 == StoredOrder.renewal)
    #expect(try await race.office.outcome(of: race.order) == .outdated)
    #expect(try await race.asked() == nil)
  }

  /// Two servers see the answer to the same request: what one of them has begun again is not the other one's to end.
  @Test func aServerThatIsLateChangesNothing() async throws {
    let race = try await Race()
    let storage = race.office.storage
    let former = try #require(try await race.asked())
    try await race.overtake(leaving: "dora")
    try await race.attend()
    let again = try await race.asked()
    #expect(try await storage.keepSigned(race.order, asked: former, at: race.office.now) == .outdated)
    try await storage.endOrder(race.order, .denied, asked: former, at: race.office.now)
    #expect(try await !storage.overtake(race.order, asked: former, at: race.office.now))
    #expect(try await storage.releaseOvertaken(race.order) == nil)
    #expect(try await race.office.operators.documentOrder(race.order) == .asked)
    #expect(try await race.asked() == again)
  }

  /// It was stopped before the former request had ended.
  @Test func anOrderThatNobodyGoesOnWithEnds() async throws {
    let race = try await Race()
    let former = try #require(try await race.asked())
    try await race.overtake(leaving: "dora")
    #expect(try await race.office.storage.overtake(race.order, asked: former, at: race.office.now))
    try await race.attend()
    #expect(try await race.office.operators.documentOrder(race.order) == .ordered)
    race.office.fixture.clock.advance(seconds: StoredOrder.patience)
    try await race.attend()
    #expect(try await race.office.outcome(of: race.order) == .notAsked)
  }
}
