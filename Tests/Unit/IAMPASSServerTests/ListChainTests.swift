import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// How lists follow one from the other: their numbers, the list before, and the administrators whom they name.
@Suite struct ListChainTests {
  private func head(_ office: SigningFixture, administrators: Int64 = 1) async throws -> UserListHead {
    try #require(try await office.page(administrators: administrators).head)
  }

  /// The number of the list that the phone is asked to sign.
  private func number(_ office: SigningFixture) async throws -> Int64 {
    guard case .users(let head)? = try await office.document().pages[0].document else {
      throw StorageFixture.NotStarted()
    }
    return head.number
  }

  @Test(arguments: StorageEngine.allCases)
  func aNumberIsNeverGivenTwice(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    #expect(try await office.order() == .asked)
    #expect(try await number(office) == 1)
    try await office.phone.answer(.deny, to: try #require(try await office.phone.list().first))
    office.fixture.clock.advance(seconds: 2 * StoredOrder.lifetime)
    #expect(try await office.order() == .asked)
    #expect(try await number(office) == 2)
    // Nobody answers, and the order is forgotten.
    office.fixture.clock.advance(seconds: 2 * StoredOrder.lifetime)
    try await office.fixture.service.documents.attend()
    #expect(try await office.sign() == .signed)
    #expect(try await head(office).number == 3)
    _ = try await office.operators.createAdministratorSet(replacing: true, at: office.now)
    #expect(try await office.sign() == .signed)
    let again = try await head(office)
    #expect(again.number == 4 && again.previous.isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func aListNamesTheOneBeforeAndTheAdministrators(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    let first = try await head(office)
    #expect(first.previous.isEmpty)
    #expect(try await first.administrators == office.set.digest)
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("carol")
    #expect(try await office.sign() == .signed)
    let second = try await head(office, administrators: 2)
    #expect(second.follows(first))
    #expect(try await second.administrators == office.set.digest)
  }

  private func asked(_ office: SigningFixture, _ subject: DocumentOrder.Subject? = nil) async throws -> String {
    let order = DocumentOrder(subject ?? .users(application: office.application), by: "ada")
    let id = try await office.operators.orderDocument(order, at: office.now)
    try await office.fixture.service.documents.attend()
    return id
  }

  @Test func oneOfTwoListsAtOnceIsTaken() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("bob")
    let id = try await asked(office)
    try await office.list("eve")
    #expect(try await office.sign(by: other, called: "bo") == .signed)
    // It would be shown beside a list that it does not follow.
    let request = try #require(try await office.phone.list().first)
    #expect(try await office.fetch(request.session, by: office.phone).status == 410)
    try await office.approve()
    #expect(try await office.outcome(of: id) == .nothing, "the other list has everything")
    #expect(try await office.phone.list().isEmpty)
    #expect(try await office.whole(administrators: 2).map(\.name) == ["bob", "eve"])
  }

  @Test func aListOfTheSetBeforeIsNotTaken() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("bob")
    let id = try await asked(office)
    _ = try await TestPhone.administrator(in: office.fixture, "cy", .admin)
    #expect(try await office.sign(.administrators(.keep), by: other, called: "bo") == .signed)
    try await office.approve()
    #expect(try await office.page(administrators: 3).head == nil)
    // It is asked for one of the set in force.
    #expect(try await office.operators.documentOrder(id) == .asked)
    try await office.approve()
    #expect(try await office.outcome(of: id) == .signed)
    #expect(try await office.page(administrators: 3).head != nil)
  }

  /// The set in force still has the phone.
  @Test(arguments: [DocumentOrder.Subject.administrators(.keep), nil])
  func whoeverIsRemovedMeanwhileSignsNothing(_ subject: DocumentOrder.Subject?) async throws {
    let office = try await SigningFixture()
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    try await office.list("bob")
    let id = try await asked(office, subject)
    _ = try await office.storage.setAdministrator("ada", role: .auditor, keepsOne: true, at: office.now)
    try await office.approve()
    #expect(try await office.outcome(of: id) == .notSigner)
    #expect(try await office.set.number == 1)
    #expect(try await office.page().head == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aListOfAnEarlierSetIsToldWithTheSetsSince(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    var sets = [try await office.set]
    for name in ["bo", "cy"] {
      _ = try await TestPhone.administrator(in: office.fixture, name, .admin)
      #expect(try await office.sign(.administrators(.keep)) == .signed)
      sets.append(try await office.set)
    }
    let page = try await office.page(administrators: 3)
    #expect(page.formerSets == Array(sets.prefix(2)))
    #expect(try await office.whole(administrators: 3).map(\.name) == ["bob"])
    #expect(try await office.operators.signingState().isSigned)
  }

  @Test func aListCountsNoMoreAfterMoreSetsThanAPageHas() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    for number in 0..<20 { _ = try await TestPhone.administrator(in: office.fixture, "a\(number)", .admin) }
    var sets: Int64 = 1
    var page = try await office.page()
    while page.head != nil, sets < 10 {
      _ = try await TestPhone.administrator(in: office.fixture, "b\(sets)", .admin)
      #expect(try await office.sign(.administrators(.keep)) == .signed)
      sets += 1
      page = try await office.page(administrators: sets)
    }
    #expect(sets > 2 && page.head == nil)
    let list = try #require(try await office.operators.signingState().lists.first)
    #expect(list.isSignerGone && !list.isSigned)
    #expect(try await office.sign() == .signed)
    #expect(try await office.page(administrators: sets).head != nil)
  }
}
