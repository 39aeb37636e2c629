import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct MatchCodeTests {
  private func waiting() async throws -> (Fixture, TestPhone, StartedSession, code: String) {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    return (fixture, phone, session, try #require(session.matchCode))
  }

  /// Another code in the same form.
  private func other(than code: String) -> String { code == "00" ? "01" : "00" }

  private func approve(_ phone: TestPhone, code: String) async throws -> ServiceReply {
    try await phone.answer(.approve, to: try #require(try await phone.list().first), code: code)
  }

  @Test func aNewApplicationHasMatchCodes() async throws {
    let fixture = try await Fixture()
    let made = try await fixture.service.storage.createApplication(named: "new", at: fixture.clock.now)
    let settings = try await fixture.service.storage.read { try ApplicationSettings.of(made.id, in: $0) }
    #expect(settings.matchCodes == .on)
  }

  /// This setting is older than match codes. They are on there too.
  @Test func anApplicationOfAnOldDatabaseHasMatchCodes() throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database, upTo: "source blocks")
    try database.write { db in
      try db.execute(sql: "INSERT INTO application (id, name, secret, created_at) VALUES ('a', 'old', 's', 0)")
    }
    try Schema.migrator.migrate(database)
    #expect(try database.read { try ApplicationSettings.of("a", in: $0) }.matchCodes == .on)
  }

  @Test func theServiceAnnouncesMatchCodes() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: ServiceAnnouncement.path, authority: Fixture.authority))
    #expect(try ServiceAnnouncement(parsing: reply.body).matchCode)
  }

  @Test func theRightCodeApproves() async throws {
    let (fixture, phone, session, code) = try await waiting()
    #expect(try await approve(phone, code: code).status == 200)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func oneWrongCodeDenies() async throws {
    let (fixture, phone, session, code) = try await waiting()
    let request = try #require(try await phone.list().first)
    let reply = try await phone.answer(.approve, to: request, code: other(than: code))
    #expect(reply.status == 403)
    #expect(reply.reason == "WRONG_CODE")
    #expect(
      try await fixture.status(of: session)
        == StatusReply(status: .cancelled, authenticated: false, reason: "WRONG_CODE"))
    #expect(try await phone.answer(.approve, to: request, code: code).reason == "ALREADY_ANSWERED")
  }

  @Test(arguments: ["4", "470", "x", "４７", "4 7", "\t\t"])
  func whatIsNotACodeCountsAsAWrongOne(_ text: String) async throws {
    let (fixture, phone, session, _) = try await waiting()
    #expect(try await approve(phone, code: text).reason == "WRONG_CODE")
    #expect(try await fixture.status(of: session).status == .cancelled)
  }

  /// Like a phone that does not know codes.
  @Test func anApprovalWithoutACodeChangesNothing() async throws {
    let (fixture, phone, session, code) = try await waiting()
    let reply = try await approve(phone, code: "")
    #expect(reply.status == 400)
    #expect(reply.reason == "CODE_MISSING")
    #expect(try await fixture.status(of: session).status == .identifying)
    #expect(try await approve(phone, code: code).status == 200)
  }

  @Test(arguments: [DeviceAnswer.deny, .notMe])
  func aDenialNeedsNoCode(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, session, _) = try await waiting()
    #expect(try await phone.answer(answer, to: try #require(try await phone.list().first)).status == 200)
    #expect(try await fixture.status(of: session).status == .cancelled)
  }

  @Test func aLateCodeIsTooLate() async throws {
    let (fixture, phone, session, code) = try await waiting()
    let request = try #require(try await phone.list().first)
    fixture.clock.advance(seconds: 60)
    #expect(try await phone.answer(.approve, to: request, code: code).status == 410)
    #expect(try await fixture.status(of: session).status == .timeout)
  }

  @Test func thePhoneIsToldThatThereIsACodeButNotWhich() async throws {
    let (fixture, phone, _, code) = try await waiting()
    let reply = await fixture.respond(
      TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests)))
    let item = try #require(try JSON(parsing: reply.body)["requests"]?.array?.first)
    #expect(item["match_code"] == .bool(true))
    // Values are left out: digits of identifiers and times may be the same.
    guard case .object(let members) = item else { throw Fixture.NotStarted() }
    // The numbers are known, so that one in a hundred codes does not fail here by chance.
    #expect(item["seconds_left"] == .integer(60))
    #expect(item["blocked"] == .integer(0))
    let others = members.filter { !["seconds_left", "blocked"].contains($0.name) }
    #expect(others.allSatisfy { $0.value != .string(code) && $0.value != .integer(Int64(code) ?? -1) })
    #expect(
      Set(members.map(\.name)) == [
        "session", "nonce", "expires", "seconds_left", "context", "method", "match_code", "blocked",
      ])
  }

  @Test func theCodeOutlivesARestart() async throws {
    let (fixture, phone, _, code) = try await waiting()
    let request = try #require(try await phone.list().first)
    let restarted = try fixture.restarted()
    let wrong = try phone.answerBody(.approve, to: request, code: other(than: code))
    #expect(await restarted.respond(to: TestPhone.request(DeviceRoute.answer, wrong)).reason == "WRONG_CODE")
  }

  /// The published clients do not send a context or show a code.
  @Test func aClientThatSendsNoContextGetsNoCode() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("POST", target))
    guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
    #expect(session.matchCode == nil)
    try await phone.approveOnly()
  }

  /// Otherwise a computer could avoid the codes by not naming itself.
  @Test func aStartWithoutAContextIsRefusedIfCodesAreRequired() async throws {
    let fixture = try await Fixture(matchCodes: .required)
    let phone = try await TestPhone.registered(in: fixture)
    let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("POST", target))
    #expect(reply.status == 200)
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "CONTEXT_REQUIRED"))
    #expect(try await phone.list() == [])
  }

  @Test func aContextBringsACodeIfCodesAreRequired() async throws {
    let fixture = try await Fixture(matchCodes: .required)
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try await fixture.started("alice").matchCode != nil)
    #expect(try await phone.list().map(\.asksCode) == [true])
  }

  /// A value from a later version, before a downgrade.
  @Test func anUnknownSettingIsTakenForTheStrictest() { #expect(MatchCodes(stored: 7) == .required) }

  @Test func withoutTheSettingThereIsNoCode() async throws {
    let fixture = try await Fixture(matchCodes: .off)
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try await fixture.started("alice").matchCode == nil)
    #expect(try await phone.list().map(\.asksCode) == [false])
  }

  @Test func theSettingHoldsFromTheNextRequestOn() async throws {
    let (fixture, phone, _, _) = try await waiting()
    try await fixture.service.storage.set(
      SettingsChange(matchCodes: .off), ofApplicationNamed: "shop")
    #expect(try await fixture.started("alice", context: SignInContext(host: "web-2")).matchCode == nil)
    #expect(try await phone.list().map(\.asksCode) == [true, false])
  }

  @Test func theSettingOfAnUnknownApplicationIsRefused() async throws {
    let fixture = try await Fixture()
    await #expect(throws: ApplicationRefusal.nameUnknown) {
      try await fixture.service.storage.set(
        SettingsChange(matchCodes: .off), ofApplicationNamed: "nobody")
    }
  }

  // If two requests had one code, the code on the owner's terminal could let a stranger in.

  @Test func openRequestsOfAUserHaveCodesOfTheirOwn() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    _ = try await TestPhone.registered(in: fixture)
    var codes: [String] = []
    for number in 0..<OpenRequestLimit.greatestOfUser {
      for remote in [nil, "192.0.2.1"] {
        let context = SignInContext(host: "web-\(number)", remoteHost: remote)
        codes.append(try #require(try await fixture.started("alice", context: context).matchCode))
      }
    }
    #expect(codes.allSatisfy { $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
    #expect(Set(codes).count == 2 * OpenRequestLimit.greatestOfUser)
  }

  /// All codes are in use, however their requests ended. No request starts until one of the codes is old.
  @Test(arguments: ["approved", "denied", "given up"])
  func aCodeRestsForTwoMinutesAfterItsRequest(_ end: String) async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    var codes: Set<String> = []
    for number in 0..<100 {
      let session = try await fixture.started("alice", context: SignInContext(host: "web-\(number)"))
      let code = try #require(session.matchCode)
      codes.insert(code)
      switch end {
      case "approved": #expect(try await approve(phone, code: code).status == 200)
      case "denied": try await phone.answer(.deny, to: try #require(try await phone.list().first))
      default: #expect(try await fixture.logOut(session).status == 200)
      }
    }
    #expect(codes.count == 100)
    let another = SignInContext(host: "another")
    #expect(try await fixture.start("alice", context: another) == .notStarted(reason: "TOO_MANY_REQUESTS"))
    fixture.clock.advance(seconds: MatchCodesInUse.rest - 1)
    #expect(try await fixture.start("alice", context: another) == .notStarted(reason: "TOO_MANY_REQUESTS"))
    fixture.clock.advance(seconds: 1)
    #expect(try await fixture.started("alice", context: another).matchCode != nil)
  }

  /// They start requests and cancel them immediately, so that nobody denies them.
  @Test func strangersLeaveTheUserAtTheKeyboardCodes() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    _ = try await TestPhone.registered(in: fixture)
    let stranger = SignInContext(host: "web-1", remoteHost: "192.0.2.1")
    for _ in 0..<(100 - MatchCodesInUse.reservedForLocal) {
      #expect(try await fixture.logOut(try await fixture.started("alice", context: stranger)).status == 200)
    }
    #expect(try await fixture.start("alice", context: stranger) == .notStarted(reason: "TOO_MANY_REQUESTS"))
    #expect(try await fixture.started("alice").matchCode != nil)
  }

  /// Each address gives up one request. What is left for the user elsewhere is a code that no terminal shows.
  @Test func strangersFromManyAddressesLeaveTheUserElsewhereACode() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    func context(_ address: String) -> SignInContext { SignInContext(host: "web-1", remoteHost: address) }
    let approved = try #require(try await fixture.started("alice", context: context("198.51.100.1")).matchCode)
    #expect(try await approve(phone, code: approved).status == 200)
    let open = try #require(try await fixture.started("alice", context: context("198.51.100.2")).matchCode)
    for number in 1...200 {
      let stranger = try await fixture.started("alice", context: context("192.0.2.\(number)"))
      #expect(stranger.matchCode != approved && stranger.matchCode != open)
      #expect(try await fixture.logOut(stranger).status == 200)
    }
    #expect(try await fixture.started("alice", context: context("198.51.100.3")).matchCode != nil)
    #expect(try await fixture.started("alice").matchCode != nil)
  }

  @Test func anotherUsersCodesAreNoMatter() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    _ = try await TestPhone.registered(in: fixture)
    _ = try await TestPhone.registered(in: fixture, user: "bob")
    for number in 0..<100 {
      let session = try await fixture.started("alice", context: SignInContext(host: "web-\(number)"))
      #expect(try await fixture.logOut(session).status == 200)
    }
    #expect(try await fixture.started("bob").matchCode != nil)
  }

  /// The owner's code, typed at the stranger's request, lets nobody in. The owner's own request goes on.
  @Test func aCodeIsTakenForItsOwnRequestOnly() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    let strangers = try await fixture.started("alice", context: SignInContext(host: "web-1", remoteHost: "192.0.2.1"))
    let own = try await fixture.started("alice")
    let code = try #require(own.matchCode)
    let open = try await phone.list()
    #expect(open.map(\.session) == [strangers.name, own.name])
    #expect(try await phone.answer(.approve, to: open[0], code: code).reason == "WRONG_CODE")
    #expect(try await fixture.status(of: strangers).status == .cancelled)
    #expect(try await phone.answer(.approve, to: open[1], code: code).status == 200)
    #expect(try await fixture.status(of: own).status == .active)
  }

  @Test func numbersBelowABoundAreAllLikely() throws {
    var seen: Set<Int> = []
    for _ in 0..<500 { seen.insert(try RandomValue.number(below: 100)) }
    #expect(seen.isSubset(of: Set(0..<100)))
    // 500 draws of 100 miss one or two by chance, and never a third.
    #expect(seen.count > 66)
    #expect(try RandomValue.number(below: 1) == 0)
  }
}
