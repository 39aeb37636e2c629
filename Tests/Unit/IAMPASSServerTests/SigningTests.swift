import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What administrators' phones sign, from the order to the computer.
@Suite struct SigningTests {
  @Test(arguments: StorageEngine.allCases)
  func computersGetWhatAPhoneHasSigned(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob", "carol", groups: ["office"])
    #expect(try await office.page().head == nil)
    #expect(try await office.sign() == .signed)
    #expect(try await office.whole().map(\.name) == ["bob", "carol"])
    let head = try #require(try await office.page().head)
    try await office.list("dora")
    // Nothing of it is told before it is signed.
    let quiet = try await office.page(epoch: head.epoch, version: head.number)
    #expect(quiet.number == head.number && quiet.head == nil && quiet.changes.isEmpty)
    #expect(try await office.sign() == .signed)
    let news = try await office.page(epoch: head.epoch, version: head.number)
    #expect(news.number > head.number && news.since == head.number)
    #expect(news.changes.map(\.name) == ["dora"])
    #expect(news.proof != nil)
    try await office.storage.removeListedUser("bob", of: "shop", at: office.now)
    #expect(try await office.sign() == .signed)
    let removed = try await office.page(epoch: head.epoch, version: head.number)
    #expect(removed.changes.map(\.text).contains("-bob"))
    #expect(try await office.whole().map(\.name) == ["carol", "dora"])
    #expect(try await office.storage.liveSessions().isEmpty)
    #expect(try await office.storage.auditEntries(after: 0, limit: 100).contains { $0.event == "user list signed" })
  }

  @Test(arguments: StorageEngine.allCases)
  func aComputerOfAGroupGetsItsOwnUsersAlone(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob", groups: ["lab", "office"])
    try await office.list("carol", groups: ["lab"])
    try await office.list("dora")
    #expect(try await office.sign() == .signed)
    let lab = try await office.computer(inGroup: "lab")
    #expect(try await office.whole(group: "lab", by: lab).map(\.name) == ["bob", "carol"])
    let none = try await office.computer(inGroup: "nobody")
    #expect(try await office.whole(group: "nobody", by: none).isEmpty)
    let head = try #require(try await office.page(by: lab).head)
    try await office.list("bob", groups: ["office"])
    #expect(try await office.sign() == .signed)
    let change = try await office.page(epoch: head.epoch, version: head.number, by: lab)
    #expect(change.changes.map(\.text) == ["-bob"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aLongListComesInPagesAndSoDoItsChanges(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("adam")
    #expect(try await office.sign() == .signed)
    let head = try #require(try await office.page().head)
    for number in 100..<700 { try await office.list("user\(number)", groups: number % 2 == 0 ? ["even"] : []) }
    #expect(try await office.sign() == .signed)
    #expect(try await office.whole().count == 601)
    var changes = try await office.page(epoch: head.epoch, version: head.number)
    var names = changes.changes.map(\.name)
    while changes.hasMore {
      changes = try await office.page(
        epoch: head.epoch, version: head.number, after: try #require(names.last))
      names += changes.changes.map(\.name)
    }
    #expect(names.count == 600 && names == names.sorted())
    let even = try await office.computer(inGroup: "even")
    #expect(try await office.whole(group: "even", by: even).count == 300)
  }

  /// Its head alone nearly fills a page.
  @Test func aListOfManyGroupsComesToComputersWithAllItsLines() async throws {
    let office = try await SigningFixture()
    func group(_ number: Int) -> String { "group\(100 + number)" + String(repeating: "x", count: 24) }
    for number in 0..<31 {
      try await office.list("lead\(100 + number)", groups: (0..<8).map { group(number * 8 + $0) })
    }
    #expect(try await office.sign() == .signed)
    let head = try #require(try await office.page().head)
    #expect(head.lists.count == 249)
    for number in 100..<300 { try await office.list("user\(number)") }
    #expect(try await office.sign() == .signed)
    #expect(try await office.whole().count == 231)
    let changes = try await office.page(epoch: head.epoch, version: head.number)
    #expect(changes.hasMore && !changes.changes.isEmpty)
  }

  @Test(arguments: [String?.none, String(repeating: "0", count: 64)])
  func aPhoneThatDidNotShowTheDocumentSignsNothing(_ said: String?) async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign(saying: .some(said)) == .notProven)
    #expect(try await office.page().head == nil)
  }

  @Test func aDenialSignsNothing() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.order() == .asked)
    try await office.phone.answer(.deny, to: try #require(try await office.phone.list().first))
    #expect(try await office.storage.openOrders().orders.isEmpty)
    #expect(try await office.page().head == nil)
  }

  @Test func nobodyAnswers() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.order() == .asked)
    office.fixture.clock.advance(seconds: 120)
    try await office.fixture.service.documents.attend()
    #expect(try await office.storage.openOrders().orders.isEmpty)
    #expect(try await office.order() == .asked)
  }

  @Test func whatIsSignedNeedsNoSignature() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    #expect(try await office.order() == .ended(.nothing))
    #expect(try await office.phone.list().isEmpty)
  }

  @Test func withoutASetNobodyIsAsked() async throws {
    let office = try await SigningFixture(starts: false)
    try await office.list("bob")
    #expect(try await office.order() == .ended(.noSet))
    #expect(try await office.operators.signingState().isSigned)
  }

  @Test func aPhoneThatIsNotInTheSetIsNotAsked() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    try await office.list("bob")
    #expect(try await office.order(by: "bo") == .ended(.notSigner))
    #expect(try await other.list().isEmpty)
  }

  @Test func aListWhoseSignerIsGoneIsToldNobody() async throws {
    let office = try await SigningFixture()
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    _ = try await office.storage.setAdministrator("ada", role: .auditor, keepsOne: true, at: office.now)
    #expect(try await office.sign(.administrators(.keep), by: other, called: "bo") == .signed)
    #expect(try await office.page(administrators: 3).head == nil)
    let list = try #require(try await office.operators.signingState().lists.first)
    #expect(list.isSignerGone && !list.isSigned)
    #expect(try await office.sign(by: other, called: "bo") == .signed)
    #expect(try await office.page(administrators: 3).head != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func computersFollowSetsOneByOne(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    let first = try await office.set
    let other = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.operators.signingState().setChanges.count == 1)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    #expect(try await office.operators.signingState().setChanges.isEmpty)
    try await office.list("bob")
    #expect(try await office.sign(by: other, called: "bo") == .signed)
    let reply = try await office.page(administrators: 1)
    #expect(reply.head == nil && reply.changes.isEmpty && reply.administrators.map(\.set.number) == [2])
    let next = try #require(reply.administrators.first)
    let check = DocumentCheck(set: first, origin: Fixture.origin, verifier: DeviceVerifier())
    #expect(
      try check.signer(of: .administrators(next.set), try #require(next.proof)).name == "ada")
    #expect(try await office.page(administrators: 2).head != nil)
  }

  @Test func aPutBackDatabaseNeedsOneSignature() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    let head = try #require(try await office.page().head)
    let now = office.now
    try await office.fixture.service.storage.write { try HistoryMark.beginEpoch(at: now, in: $0) }
    let list = try #require(try await office.operators.signingState().lists.first)
    #expect(list.isOfOtherEpoch && !list.isSigned)
    #expect(try await office.sign() == .signed)
    let news = try await office.page(epoch: head.epoch, version: head.number)
    #expect(news.epoch > head.epoch && news.number == 1)
  }

  /// The database was put back by hand: it has an older list than the computer, of the same epoch.
  @Test func anOlderServiceSaysSoWithoutLines() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    let head = try #require(try await office.page().head)
    let reply = try await office.page(epoch: head.epoch, version: head.number + 5)
    #expect(reply.head == head && reply.changes.isEmpty)
  }

  @Test func aUserWithAPhoneIsListedWithItsKey() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let code = try #require(
      try await office.storage.invitation(ofListed: "bob", of: "shop", isFurther: false, at: office.now))
    let key = try DeviceKey.generate()
    #expect(try await TestPhone.register(in: office.fixture, code: code, key: key).status == 200)
    #expect(try await office.sign() == .signed)
    let line = try #require(try await office.whole().first)
    #expect(line.phones.map(\.key.text) == [try key.publicKey.text])
    _ = try await office.storage.makeLink(
      LinkOrder(
        code: Secret("again"), user: line.token.exposedValue, application: office.application, displayName: "bob",
        loss: .keepsSessions), at: office.now)
    let change = try #require(try await office.operators.signingState().lists.first?.changes.first)
    #expect(change.text == "change bob: phones")
  }

  @Test func onlyTheServiceAsksForDocuments() async throws {
    let office = try await SigningFixture()
    try await office.fixture.addUserIfNew("alice")
    let context = SignInContext(host: "users", service: SignedDocument.serviceName)
    let reply = await office.fixture.respond(try office.fixture.startRequest("alice", context: context))
    #expect((reply.status, reply.reason) == (400, "RESERVED_SERVICE"))
  }
}

extension SigningFixture {
  func computer(inGroup group: String) async throws -> HostCredential {
    let secret = Secret(Base64URL.encode(try #require(Digest.randomBytes(JoinCode.secretLength))))
    let own = Secret(Base64.encode(try #require(Digest.randomBytes(24))))
    let order = JoinOrder(
      application: "shop", secret: secret, uses: 1, days: 1, isUnattended: true, group: group)
    _ = try await storage.createJoinCode(order, at: now)
    let ask = ReceivedJoinRequest(
      request: JoinRequest(code: secret, name: "desk-\(group)", secret: own), address: "192.0.2.1")
    guard case .joined(let credential, _, _) = try await storage.join(ask, at: now) else {
      throw StorageFixture.NotStarted()
    }
    return HostCredential(
      id: credential.id, application: credential.application, name: credential.name, host: credential.host,
      secret: own, createdAt: credential.createdAt, lastUsedAt: nil, revokedAt: nil, group: credential.group)
  }
}
