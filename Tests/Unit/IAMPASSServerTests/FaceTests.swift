import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The method `facial`: an app's own word, if its application lets apps give it.
@Suite struct FaceTests {
  private let fixture: Fixture
  private let phone: TestPhone

  init() async throws {
    fixture = try await Fixture(matchCodes: .off)
    phone = try await TestPhone.registered(in: fixture)
  }

  private func allow(_ isAllowed: Bool = true) async throws {
    try await fixture.service.storage.set(
      SettingsChange(appsVouchForFaces: isAllowed), ofApplicationNamed: "shop")
  }

  private func offer(_ purpose: DevicePurpose = .face) async throws -> ServiceReply {
    try await phone.send(DeviceRoute.face, phone.ask(purpose).json)
  }

  private func methods(of reply: ServiceReply) throws -> [AuthenticationMethod] {
    try DeviceStatusReply(parsing: reply.body).methods
  }

  private func expectNotAvailable() async throws {
    #expect(
      try await fixture.start("alice", query: "?methods=facial") == .notStarted(reason: "METHOD_NOT_AVAILABLE"))
  }

  private func events() async throws -> [AuditEntry] {
    try await fixture.service.storage.auditEntries(after: 0)
  }

  @Test func nobodyVouchesUnlessTheApplicationSaysSo() async throws {
    let refused = try await offer()
    #expect(refused.status == 403 && refused.reason == "METHOD_NOT_AVAILABLE")
    try await expectNotAvailable()
    // Also an offer of before the setting was switched off.
    try await allow()
    #expect(try await offer().status == 200)
    try await allow(false)
    try await expectNotAvailable()
    #expect(try methods(of: try await phone.status()) == [.acceptance])
  }

  @Test func anAppVouchesAndTheAuditSaysWhoseWordItIs() async throws {
    try await allow()
    #expect(try methods(of: try await offer()) == [.acceptance, .facial])
    let session = try await fixture.started("alice", query: "?methods=facial")
    let request = try #require(try await phone.list().first)
    #expect(request.method == .facial)
    #expect(try await phone.answer(.approve, to: request).status == 200)
    #expect(try await fixture.status(of: session).status == .active)
    let told = try await events()
    #expect(told.contains { $0.event == "settings changed" && $0["reason"] == "face=apps" })
    #expect(told.contains { $0.event == "app vouches for faces" && $0["phone"] == "Alice" })
    let word = try #require(told.first { $0.event == "app vouched for the face" })
    #expect(word["session"] == session.name)
  }

  @Test func approvalsByOtherMethodsAreNobodysWord() async throws {
    try await allow()
    _ = try await offer()
    _ = try await fixture.started("alice", query: "?methods=acceptance")
    try await phone.approveOnly()
    #expect(try await events().allSatisfy { $0.event != "app vouched for the face" })
  }

  @Test func aTapIsNotAFace() async throws {
    try await allow()
    _ = try await offer()
    let session = try await fixture.started("alice", query: "?methods=facial")
    let request = try #require(try await phone.list().first)
    let statement = phone.statement(.approve, to: request, method: .acceptance)
    #expect(try await phone.send(DeviceRoute.answer, statement.json).reason == "WRONG_METHOD")
    #expect(try await fixture.status(of: session).status != .active)
  }

  @Test func aPageNeverVouches() async throws {
    try await allow()
    _ = try await offer()
    _ = try await fixture.started("alice", query: "?methods=facial")
    let request = try #require(try await phone.list().first)
    // A page with the same key opens its stream.
    _ = await fixture.respond(TestPhone.request(DeviceRoute.events, try phone.askBody(.events)))
    #expect(try await phone.answer(.approve, to: request).reason == "METHOD_NOT_AVAILABLE")
    #expect(try await offer().reason == "METHOD_NOT_AVAILABLE")
    #expect(try methods(of: try await phone.status()) == [.acceptance])
  }

  @Test func aRequestIsNotApprovedAfterTheSettingWasSwitchedOff() async throws {
    try await allow()
    _ = try await offer()
    let session = try await fixture.started("alice", query: "?methods=facial")
    let request = try #require(try await phone.list().first)
    try await allow(false)
    #expect(try await phone.answer(.approve, to: request).reason == "METHOD_NOT_AVAILABLE")
    #expect(try await fixture.status(of: session).status != .active)
    #expect(try await phone.answer(.deny, to: request).status == 200)
  }

  @Test func theWordIsWithdrawnWheneverTheAppWants() async throws {
    #expect(try await offer(.noFace).status == 200)
    try await allow()
    _ = try await offer()
    #expect(try methods(of: try await offer(.noFace)) == [.acceptance])
    try await expectNotAvailable()
    #expect(try await events().last { $0.event.hasPrefix("app vouches") }?.event == "app vouches no more")
  }

  @Test func theScreenLockIsTheStrongerMethod() async throws {
    try await allow()
    _ = try await offer()
    let authenticator = try TestAuthenticator()
    let ask = try phone.ask(.credential)
    let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
    let statement = CredentialStatement(ask: ask, credential: try authenticator.credential(challenge: challenge))
    let reply = try await phone.send(DeviceRoute.credential, statement.json)
    #expect(try methods(of: reply) == [.acceptance, .facial, .device])
    _ = try await fixture.started("alice")
    #expect(try await phone.list().first?.method == .device)
  }

  @Test func anAppThatMayVouchIsTrained() async throws {
    try await allow()
    try await expectNotAvailable()
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).training == [.facial])
    _ = try await offer()
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).training.isEmpty)
    _ = try await fixture.started("alice", query: "?methods=facial")
  }

  @Test func aPhoneThatWasCutOffVouchesForNobody() async throws {
    try await allow()
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await offer().status == 403)
  }

  @Test(arguments: StorageEngine.allCases)
  func eachEngineKeepsTheWordAndItsAudit(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    try await room.storage.changeSettings(of: room.application.id) { $0.appsVouchForFaces = true }
    #expect(try await room.storage.settings(of: room.application.id).appsVouchForFaces)
    for isOffered in [true, true, false, true] {
      _ = try await room.storage.keepFace(isOffered, of: phone, at: room.now) { facts in
        #expect(facts.mayVouchForFace)
        return nil
      }
      #expect(
        try await room.storage.account(of: phone, at: room.now).methods
          == (isOffered ? [.acceptance, .facial] : [.acceptance]))
    }
    try await room.storage.markPage(of: phone.id)
    #expect(try await room.storage.account(of: phone, at: room.now).methods == [.acceptance])
    let told = try await room.storage.auditEntries(after: 0, limit: 100).map(\.event).filter {
      $0.hasPrefix("app vouches")
    }
    #expect(told == ["app vouches for faces", "app vouches no more", "app vouches for faces"])
  }
}
