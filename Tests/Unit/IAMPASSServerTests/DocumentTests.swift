import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What an administrator's phone is shown before it signs.
@Suite struct DocumentTests {
  @Test func aRequestForADocumentSaysSoAndAsksNoDigits() async throws {
    let office = try await SigningFixture()
    try await office.list("bob", groups: ["office"])
    #expect(try await office.order() == .asked)
    let (request, pages) = try await office.document()
    #expect(request.document == "users" && !request.asksCode)
    let page = try #require(pages.first)
    let document = try #require(page.document)
    #expect(document.challenge == request.challenge && document.context == request.context)
    #expect(page.former == nil && page.sets.map(\.set.number) == [1])
    #expect(page.entries.map(\.groups) == [["office"]])
    guard case .users(let head) = document else { throw StorageFixture.NotStarted() }
    #expect(UserListLine.digest(of: page.entries.map(\.line)) == head.list(of: "").digest)
  }

  @Test(arguments: StorageEngine.allCases)
  func thePhoneCanRebuildTheFormerList(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    for number in 100..<700 { try await office.list("user\(number)") }
    try await office.list("bob", "carol", groups: ["office"])
    #expect(try await office.sign() == .signed)
    try await office.storage.removeListedUser("carol", of: "shop", at: office.now)
    try await office.list("bob", groups: ["lab"])
    try await office.list("zoe")
    #expect(try await office.order() == .asked)
    let pages = try await office.document().pages
    #expect(pages.count > 1)
    let former = try #require(pages[0].former)
    #expect(pages.dropFirst().allSatisfy { $0.former == nil && $0.document == nil })
    let (entries, other, new) = (pages.flatMap(\.entries), pages.flatMap(\.other), pages.flatMap(\.new))
    #expect(other.map(\.line.name) == ["bob", "carol"] && new == ["zoe"])
    let changed = Set(other.map(\.line.name) + new)
    let rebuilt = other + entries.filter { !changed.contains($0.line.name) }
    for group in ["", "office"] {
      let lines = rebuilt.filter { group.isEmpty || $0.groups.contains(group) }.map(\.line)
      #expect(UserListLine.digest(of: lines) == former.head.list(of: group).digest)
    }
    let check = DocumentCheck(set: try await office.set, origin: Fixture.origin, verifier: DeviceVerifier())
    #expect(try check.signer(of: .users(former.head), former.proof).name == "ada")
  }

  @Test func setsComeWithoutGapsFromTheLastOneThatThePhoneKnows() async throws {
    let office = try await SigningFixture()
    for name in ["bo", "cy"] {
      _ = try await TestPhone.administrator(in: office.fixture, name, .admin)
      #expect(try await office.sign(.administrators(.keep)) == .signed)
    }
    _ = try await TestPhone.administrator(in: office.fixture, "di", .admin)
    #expect(try await office.order(.administrators(.keep)) == .asked)
    let (request, pages) = try await office.document()
    #expect(request.document == "administrators")
    #expect(pages.flatMap(\.sets).map(\.set.number) == [1, 2, 3])
    guard case .administrators(let next)? = pages[0].document else { throw StorageFixture.NotStarted() }
    #expect(next.number == 4 && next.phones.count == 4)
    #expect(try await office.document(knowing: 3).pages.flatMap(\.sets).map(\.set.number) == [3])
  }

  /// The list changes while the phone shows it: what is signed is what the phone showed.
  @Test func whatIsShownIsWhatIsSigned() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.order() == .asked)
    try await office.list("eve")
    #expect(try await office.document().pages.flatMap(\.entries).map(\.line.name) == ["bob"])
    try await office.approve()
    #expect(try await office.whole().map(\.name) == ["bob"])
    let changes = try await office.operators.signingState().lists[0].changes
    #expect(changes.map(\.text) == ["add eve"])
  }

  @Test func onlyThePhoneThatIsAskedIsShownIt() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    try await office.list("bob")
    #expect(try await office.order() == .asked)
    let request = try #require(try await office.phone.list().first)
    let stranger = try await office.fetch(request.session, by: other)
    #expect((stranger.status, stranger.reason) == (404, "UNKNOWN_REQUEST"))
    #expect(try await office.fetch(request.session, by: office.phone, after: "x:y").status == 400)
    try await office.phone.answer(.deny, to: request)
    let late = try await office.fetch(request.session, by: office.phone)
    #expect((late.status, late.reason) == (410, "TOO_LATE"))
  }

  @Test func aSignInHasNoDocument() async throws {
    let office = try await SigningFixture()
    let phone = try await TestPhone.registered(in: office.fixture)
    _ = try await office.fixture.started("alice")
    let request = try #require(try await phone.list().first)
    #expect(request.document == nil)
    #expect(try await office.fetch(request.session, by: phone).status == 400)
  }
}
