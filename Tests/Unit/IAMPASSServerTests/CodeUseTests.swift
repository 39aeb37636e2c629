import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Codes that served on computers which could not ask the phone, as those report afterwards.
@Suite struct CodeUseTests {
  private let fixture: Fixture
  private let phone: TestPhone
  private let laptop: HostCredential

  init() async throws {
    fixture = try await Fixture()
    phone = try await TestPhone.registered(in: fixture)
    laptop = try await fixture.service.storage.createHostCredential(
      named: "laptop 7", host: "laptop-7", of: "shop", at: fixture.clock.now)
  }

  private func report(
    _ id: String = "set.1", left: Int64 = 9, host: String = "vault", open: Bool = false
  ) -> CodeUseReport {
    CodeUseReport(
      id: id, way: .recovery, usedAt: 1_700_000_000, left: left,
      context: SignInContext(host: host, service: "sudo", user: "alice", remoteHost: "192.0.2.1"), isOpen: open)
  }

  private func send(
    _ body: [UInt8], for user: String = "alice", digest: [UInt8]? = nil, by credential: HostCredential? = nil
  ) async throws -> ServiceReply {
    let id = credential?.id ?? fixture.application.id
    let item = BodyDigest.item(for: digest ?? body)
    let target = "/authentication/code_use/\(id)/\(user)?\(item.0)=\(item.1)"
    return await fixture.respond(
      try credential.map { try fixture.signed("POST", target, body, by: $0) } ?? fixture.signed("POST", target, body))
  }

  private func shown() async throws -> [CodeUseReport] {
    let reply = try DeviceStatusReply(parsing: try await phone.status().body)
    let listing = try await phone.send(DeviceRoute.requests, phone.ask(.requests).json)
    #expect(try RequestsReply(parsing: listing.body).codesUsed == reply.codesUsed)
    return reply.codesUsed
  }

  @Test func thePhoneAndTheAuditAreTold() async throws {
    #expect(try await send(report().encoded(), by: laptop).status == 200)
    let use = try #require(try await shown().first)
    #expect(use.id == "set.1" && use.left == 9 && use.usedAt == 1_700_000_000)
    #expect(use.context.service == "sudo")
    #expect(use.context.host == "laptop-7", "the credential says which computer it is")
    let entries = try await fixture.service.storage.auditEntries(after: 0)
    let entry = try #require(entries.first { $0.event == "recovery code used" })
    #expect(entry["host"] == "laptop-7" && entry["service"] == "sudo" && entry["credential"] == "laptop 7")
    #expect(entry["account"] == "alice" && entry["remote_host"] == "192.0.2.1")
    #expect(entry["reason"] == "used 2023-11-14T22:13:20Z, 9 left")
  }

  @Test func aCodeOfThePhoneHasNoneLeft() async throws {
    let use = CodeUseReport(
      id: "challenge", way: .phone, usedAt: 1_700_000_000, left: nil, context: SignInContext(service: "login"))
    #expect(try await send(use.encoded(), by: laptop).status == 200)
    let uses = try await shown()
    #expect(uses.map(\.way) == [.phone] && uses.map(\.left) == [nil])
    let entry = try #require(
      try await fixture.service.storage.auditEntries(after: 0).first { $0.event == "approved offline" })
    #expect(entry["reason"] == "used 2023-11-14T22:13:20Z")
  }

  @Test func aReportThatComesTwiceIsOneUse() async throws {
    for _ in 0..<2 { #expect(try await send(report().encoded(), by: laptop).status == 200) }
    #expect(try await shown().count == 1)
    #expect(
      try await fixture.service.storage.auditEntries(after: 0).count { $0.event == "recovery code used" } == 1)
  }

  @Test func thePhoneSeesTheNewestForAMonth() async throws {
    for number in 0..<12 { _ = try await send(report("set.\(number)").encoded()) }
    #expect(try await shown().count == CodeUse.greatestShown)
    fixture.clock.advance(seconds: CodeUse.shownTime + 1)
    #expect(try await shown().isEmpty)
  }

  @Test func anUnknownUserIsNotFound() async throws {
    #expect(try await send(report().encoded(), for: "nobody").status == 404)
  }

  @Test func aRevokedCredentialReportsNothing() async throws {
    try await fixture.service.storage.revokeHostCredential(named: "laptop 7", of: "shop", at: fixture.clock.now)
    #expect(try await send(report().encoded(), by: laptop).status == 401)
    #expect(try await shown().isEmpty)
  }

  @Test(arguments: [
    "", "[]", "{}",
    #"{"use":"","way":"recovery","used_at":1,"left":1,"context":{}}"#,
    #"{"use":"a b","way":"recovery","used_at":1,"left":1,"context":{}}"#,
    #"{"use":"a","way":"recovery","used_at":-1,"left":1,"context":{}}"#,
    #"{"use":"a","way":"recovery","used_at":1,"left":-1,"context":{}}"#,
    #"{"use":"a","way":"recovery","used_at":1,"left":"1","context":{}}"#,
    #"{"use":"a","way":"recovery","used_at":1,"left":1}"#,
    #"{"use":"a","way":"recovery","used_at":1,"left":1,"context":{"service":7}}"#,
    #"{"use":"a","used_at":1,"left":1,"context":{}}"#,
    #"{"use":"a","way":"x","used_at":1,"left":1,"context":{}}"#,
  ])
  func whatIsNotAReportIsRefused(_ body: String) async throws {
    #expect(try await send(Array(body.utf8)).status == 400)
    #expect(try await shown().isEmpty)
  }

  @Test func aBodyThatTheSignatureDoesNotCoverIsRefused() async throws {
    #expect(try await send(report().encoded(), digest: report("another").encoded()).status == 400)
    let target = "/authentication/code_use/\(fixture.application.id)/alice"
    #expect(await fixture.respond(try fixture.signed("POST", target, report().encoded())).status == 400)
  }

  @Test(arguments: StorageEngine.allCases) func eachEngineKeepsACodeOfThePhone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let signInClient = SignInClient(application: room.application, credential: nil)
    let report = CodeUseReport(id: "c", way: .phone, usedAt: 1_700_000_000, left: nil, context: SignInContext())
    let use = CodeUse(report: report, credential: nil)
    _ = try await room.storage.record(use, of: "alice", by: signInClient, at: room.now)
    #expect(try await room.storage.account(of: phone, at: room.now).codeUses == [use])
    let entry = try #require(
      try await room.storage.auditEntries(after: 0, limit: 100).first { $0.event == "approved offline" })
    #expect(entry["reason"] == "used 2023-11-14T22:13:20Z")
  }

  @Test(arguments: StorageEngine.allCases) func eachEngineKeepsAUseOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let signInClient = SignInClient(application: room.application, credential: nil)
    let use = CodeUse(report: report(), credential: nil)
    #expect(
      try await room.storage.record(use, of: "alice", by: signInClient, at: room.now) == .noted(.new, user: phone.user))
    let again = KeptUse(isNew: false, isNews: false, isDisowned: false)
    #expect(
      try await room.storage.record(use, of: "alice", by: signInClient, at: room.now) == .noted(again, user: phone.user)
    )
    #expect(try await room.storage.record(use, of: "bob", by: signInClient, at: room.now) == .unknownUser)
    #expect(try await room.storage.account(of: phone, at: room.now).codeUses == [use])
    #expect(try await room.storage.requests(for: phone, at: room.now)?.codeUses == [use])
    let entry = try #require(
      try await room.storage.auditEntries(after: 0, limit: 100).first { $0.event == "recovery code used" })
    #expect(entry["reason"] == "used 2023-11-14T22:13:20Z, 9 left" && entry["service"] == "sudo")
    room.clock.advance(seconds: CodeUse.lifetime + 1)
    try await room.storage.forgetOld(at: room.now, wall: room.now)
    #expect(
      try await room.storage.record(use, of: "alice", by: signInClient, at: room.now) == .noted(.new, user: phone.user))
  }

  private func isDisowned(_ reply: ServiceReply) throws -> Bool {
    try CodeUseReply(parsing: reply.body).isDisowned
  }

  private func end(_ id: String, by phone: TestPhone) async throws -> ServiceReply {
    try await phone.send(DeviceRoute.end, EndStatement(ask: phone.ask(.end), sessions: [id]).json)
  }

  @Test func theUserIsAskedAboutASessionThatGoesOn() async throws {
    #expect(try await send(report(open: true).encoded(), by: laptop).status == 200)
    #expect(try await shown().map(\.isOpen) == [true])
    fixture.clock.advance(seconds: 50)
    _ = try await send(report(open: true).encoded(), by: laptop)
    fixture.clock.advance(seconds: 50)
    #expect(try await shown().map(\.isOpen) == [true], "the computer says so all the time")
    fixture.clock.advance(seconds: CodeUse.openTime)
    #expect(try await shown().map(\.isOpen) == [false], "a computer that is silent may be off")
    _ = try await send(report(open: true).encoded(), by: laptop)
    _ = try await send(report().encoded(), by: laptop)
    #expect(try await shown().map(\.isOpen) == [false])
  }

  @Test func aDisownedSessionsComputerIsToldToEndIt() async throws {
    #expect(try !isDisowned(try await send(report(open: true).encoded(), by: laptop)))
    #expect(try await end("set.1", by: phone).status == 200)
    #expect(try await shown().map(\.isOpen) == [false])
    #expect(try isDisowned(try await send(report(open: true).encoded(), by: laptop)))
    #expect(try await shown().map(\.isOpen) == [false])
    #expect(try await end("set.1", by: phone).status == 200)
    let entries = try await fixture.service.storage.auditEntries(after: 0).filter { $0.event == "sign-in disowned" }
    #expect(entries.count == 1)
    #expect(entries.first?["host"] == "laptop-7" && entries.first?["credential"] == "laptop 7")
  }

  @Test func nobodyEndsAnothersSession() async throws {
    let bob = try await TestPhone.registered(in: fixture, user: "bob")
    _ = try await send(report(open: true).encoded(), by: laptop)
    #expect(try await end("set.1", by: bob).status == 404)
    #expect(try await end("set.2", by: phone).status == 404)
    #expect(try !isDisowned(try await send(report(open: true).encoded(), by: laptop)))
  }

  @Test(arguments: StorageEngine.allCases) func eachEngineKeepsWhatTheUserSays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let signInClient = SignInClient(application: room.application, credential: nil)
    let use = CodeUse(report: report(open: true), credential: nil)
    _ = try await room.storage.record(use, of: "alice", by: signInClient, at: room.now)
    #expect(try await room.storage.account(of: phone, at: room.now).codeUses == [use])
    // Nothing is written for what changes little.
    room.clock.advance(seconds: 15)
    let again = KeptUse(isNew: false, isNews: false, isDisowned: false)
    #expect(
      try await room.storage.record(use, of: "alice", by: signInClient, at: room.now) == .noted(again, user: phone.user)
    )
    guard case .ended(let ended) = try await room.storage.endSessions(["set.1"], by: phone, at: room.now) else {
      Issue.record("unknown")
      return
    }
    #expect(ended.isEmpty)
    let disowned = KeptUse(isNew: false, isNews: false, isDisowned: true)
    #expect(
      try await room.storage.record(use, of: "alice", by: signInClient, at: room.now)
        == .noted(disowned, user: phone.user))
    let entries = try await room.storage.auditEntries(after: 0, limit: 100).filter { $0.event == "sign-in disowned" }
    #expect(entries.map { $0["reason"] } == ["used 2023-11-14T22:13:20Z"])
  }
}
