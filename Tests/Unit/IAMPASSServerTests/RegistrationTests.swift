import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct RegistrationTests {
  private func fixtureWithUser() async throws -> Fixture {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    return fixture
  }

  private func hasDevice(_ fixture: Fixture) async throws -> Bool {
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("GET", target))
    return try DeviceRegisteredReply(parsing: reply.body).isRegistered
  }

  private func show(_ code: Secret, _ fixture: Fixture) async -> ServiceReply {
    await fixture.respond(
      ServiceRequest(method: "GET", target: "/register/" + code.exposedValue, authority: Fixture.authority))
  }

  @Test func aLinkMakesAPhone() async throws {
    let fixture = try await fixtureWithUser()
    #expect(try await TestPhone.register(in: fixture, code: try await fixture.linkCode(for: "alice")).status == 200)
    #expect(try await hasDevice(fixture))
  }

  @Test func showingALinkTellsWhosePhoneItMakes() async throws {
    let fixture = try await fixtureWithUser()
    let reply = try LinkReply(parsing: await show(try await fixture.linkCode(for: "alice"), fixture).body)
    #expect(reply == LinkReply(application: "shop", user: "Alice", secondsLeft: 900))
  }

  @Test func showingALinkDoesNotUseIt() async throws {
    let fixture = try await fixtureWithUser()
    let code = try await fixture.linkCode(for: "alice")
    _ = await show(code, fixture)
    #expect(await show(code, fixture).status == 200)
    #expect(try await TestPhone.register(in: fixture, code: code).status == 200)
  }

  @Test func aLinkWorksOnce() async throws {
    let fixture = try await fixtureWithUser()
    let code = try await fixture.linkCode(for: "alice")
    #expect(try await TestPhone.register(in: fixture, code: code).status == 200)
    let second = try await TestPhone.register(in: fixture, code: code)
    #expect(second.status == 410)
    #expect(second.reason == "LINK_USED")
  }

  /// As after a reply that was lost.
  @Test(arguments: StorageEngine.allCases)
  func sameCodeAndKeyTwiceIsOnePhone(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    try await fixture.addUser("alice")
    let (code, key) = (try await fixture.linkCode(for: "alice"), try DeviceKey.generate())
    let first = try await TestPhone.register(in: fixture, code: code, key: key)
    let storage = fixture.service.core.storage
    let entries = try await storage.auditEntries(after: 0, limit: 100).count
    let second = try await TestPhone.register(in: fixture, code: code, key: key)
    #expect(second.status == 200)
    #expect(try RegisterReply(parsing: second.body) == RegisterReply(parsing: first.body))
    #expect(try await storage.stock().phones == 1)
    #expect(try await storage.auditEntries(after: 0, limit: 100).count == entries)
    // The link stays used, for everybody else and for whoever looks at it.
    #expect(try await TestPhone.register(in: fixture, code: code).reason == "LINK_USED")
    #expect(await show(code, fixture).reason == "LINK_USED")
  }

  @Test func aRegistrationIsRepeatedWithinTheLinksTimeOnly() async throws {
    let fixture = try await fixtureWithUser()
    let (code, key) = (try await fixture.linkCode(for: "alice"), try DeviceKey.generate())
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).status == 200)
    fixture.clock.advance(seconds: 899)
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).status == 200)
    fixture.clock.advance(seconds: 1)
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).reason == "LINK_USED")
  }

  @Test(arguments: StorageEngine.allCases)
  func oneRegistrationSentThriceAtOnceIsOnePhone(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    try await fixture.addUser("alice")
    let (code, key) = (try await fixture.linkCode(for: "alice"), try DeviceKey.generate())
    let request = TestPhone.request(
      DeviceRoute.register, RegisterRequest(code: code, publicKey: try key.publicKey.text).encoded())
    let service = fixture.service
    let devices = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<3 {
        group.addTask { try RegisterReply(parsing: await service.respond(to: request).body).device }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(devices.count == 1)
    #expect(try await fixture.service.core.storage.stock().phones == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWasCutOffMeanwhileIsNotToldAgain(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    try await fixture.addUser("alice")
    let (code, key) = (try await fixture.linkCode(for: "alice"), try DeviceKey.generate())
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).status == 200)
    let next = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).reason == "LINK_USED")
    // Nor of another link's phone that has the same key.
    fixture.clock.advance(seconds: 1)
    #expect(try await TestPhone.register(in: fixture, code: next, key: key).status == 200)
    #expect(try await TestPhone.register(in: fixture, code: code, key: key).reason == "LINK_USED")
  }

  @Test func aLinkExpires() async throws {
    let fixture = try await fixtureWithUser()
    let code = try await fixture.linkCode(for: "alice")
    fixture.clock.advance(seconds: 900)
    let reply = try await TestPhone.register(in: fixture, code: code)
    #expect(reply.status == 410)
    #expect(reply.reason == "LINK_EXPIRED")
  }

  @Test func anInventedCodeIsNotFound() async throws {
    let fixture = try await fixtureWithUser()
    #expect(try await TestPhone.register(in: fixture, code: Secret("00000000000000000000000000000000")).status == 404)
  }

  @Test func theDatabaseDoesNotHoldTheCode() async throws {
    let fixture = try await fixtureWithUser()
    let code = try await fixture.linkCode(for: "alice")
    let stored = try await fixture.service.storage.read { try String.fetchAll($0, sql: "SELECT code_hash FROM link") }
    #expect(stored == [Link.hash(of: code)])
    #expect(stored != [code.exposedValue])
  }

  @Test func aUserHasOnePhone() async throws {
    let fixture = try await fixtureWithUser()
    _ = try await TestPhone.registered(in: fixture)
    let second = try await fixture.linkCode(for: "alice")
    let reply = try await TestPhone.register(in: fixture, code: second)
    #expect(reply.status == 409)
    #expect(reply.reason == "HAS_MOBILE_DEVICE")
  }

  @Test func aLostPhoneIsCutOffAtOnce() async throws {
    let fixture = try await fixtureWithUser()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await !hasDevice(fixture))
    let reply = await fixture.respond(TestPhone.request(DeviceRoute.status, try phone.askBody(.status)))
    #expect(reply.status == 403)
    #expect(reply.reason == "DEVICE_CUT_OFF")
  }

  @Test func theLinkForALostPhoneMakesANewOne() async throws {
    let fixture = try await fixtureWithUser()
    _ = try await TestPhone.registered(in: fixture)
    _ = try await TestPhone.registered(in: fixture, lost: true)
    #expect(try await hasDevice(fixture))
  }

  @Test func aLostPhoneTakesUnusedLinksWithIt() async throws {
    let fixture = try await fixtureWithUser()
    let old = try await fixture.linkCode(for: "alice")
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await TestPhone.register(in: fixture, code: old).status == 404)
  }

  @Test func aLinkForALostPhoneEndsWithTheNextRegistration() async throws {
    let fixture = try await fixtureWithUser()
    let lost = try await fixture.linkCode(for: "alice", lost: true)
    let phone = try await TestPhone.registered(in: fixture)
    #expect(try await TestPhone.register(in: fixture, code: lost).reason == "UNKNOWN_LINK")
    let reply = await fixture.respond(TestPhone.request(DeviceRoute.status, try phone.askBody(.status)))
    #expect(reply.status == 200)
  }

  @Test func unregisteringTakesUnusedLinksWithIt() async throws {
    let fixture = try await fixtureWithUser()
    let phone = try await TestPhone.registered(in: fixture)
    let unused = try await fixture.linkCode(for: "alice")
    _ = try await phone.unregister()
    #expect(try await TestPhone.register(in: fixture, code: unused).reason == "UNKNOWN_LINK")
  }

  @Test func losingAPhoneClosesWhatItDidNotAnswer() async throws {
    let fixture = try await fixtureWithUser()
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await fixture.status(of: session).status == .closed)
  }

  @Test func losingAPhoneLeavesWhatItApproved() async throws {
    let fixture = try await fixtureWithUser()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await fixture.status(of: session).status == .active)
  }

  /// Reports the phone as lost, and returns the service's reply.
  private func lose(_ fixture: Fixture, _ query: String = "") async throws -> ServiceReply {
    let target = "/management/lost_user_mobile_device/\(fixture.application.id)/alice\(query)"
    return await fixture.respond(try fixture.signed("GET", target))
  }

  private func code(in reply: ServiceReply) throws -> Secret {
    let link = try RegistrationLinkReply(parsing: reply.body).registerURL
    return Secret(String(link.dropFirst(Fixture.origin.count + "/register/".count)))
  }

  /// Someone else may have an older link.
  @Test(arguments: [false, true])
  func aNewLinkTakesTheOlderUnusedOnesBack(isLost: Bool) async throws {
    let fixture = try await fixtureWithUser()
    let old = try await fixture.linkCode(for: "alice", lost: isLost)
    let new = try await fixture.linkCode(for: "alice")
    #expect(await show(old, fixture).reason == "UNKNOWN_LINK")
    #expect(try await TestPhone.register(in: fixture, code: old).reason == "UNKNOWN_LINK")
    #expect(try await TestPhone.register(in: fixture, code: new).status == 200)
  }

  @Test func anotherUsersLinksStay() async throws {
    let fixture = try await fixtureWithUser()
    try await fixture.addUser("bob")
    let bobs = try await fixture.linkCode(for: "bob")
    _ = try await fixture.linkCode(for: "alice")
    #expect(await show(bobs, fixture).status == 200)
  }

  @Test func theNextPhoneHasTheLostOnesName() async throws {
    let fixture = try await fixtureWithUser()
    _ = try await TestPhone.registered(in: fixture)
    for _ in 0..<2 {
      let code = try code(in: try await lose(fixture))
      #expect(try LinkReply(parsing: await show(code, fixture).body).user == "Alice")
    }
    let named = try code(in: try await lose(fixture, "?display_name=A.%20Smith"))
    #expect(try LinkReply(parsing: await show(named, fixture).body).user == "A. Smith")
    #expect(try await TestPhone.register(in: fixture, code: named).status == 200)
    let again = try code(in: try await lose(fixture))
    #expect(try LinkReply(parsing: await show(again, fixture).body).user == "A. Smith")
  }

  @Test func losingAPhoneEndsWhatItApprovedWhereThatIsAskedFor() async throws {
    let fixture = try await fixtureWithUser()
    let phone = try await TestPhone.registered(in: fixture)
    var sessions: [StartedSession] = []
    for number in 0..<3 {
      sessions.append(try await fixture.started("alice", context: SignInContext(host: "web-\(number)")))
      try await phone.approveOnly()
    }
    let open = try await fixture.started("alice", context: SignInContext(host: "web-9"))
    let own = try #require(sessions[1].name)
    let reply = try await lose(fixture, "?end_sessions=1&keep_sessions=\(own)%2Canother")
    #expect(reply.status == 200)
    // The open request had not become a session yet.
    #expect(try LostDeviceSessions.ended(in: reply.body) == 2)
    for session in [sessions[0], sessions[2], open] {
      #expect(
        try await fixture.status(of: session)
          == StatusReply(status: .closed, authenticated: false, reason: "PHONE_LOST"))
    }
    #expect(try await fixture.status(of: sessions[1]).status == .active)
  }

  @Test func anotherUsersSessionsGoOnWhenAPhoneIsLost() async throws {
    let fixture = try await fixtureWithUser()
    let bobs = try await TestPhone.registered(in: fixture, user: "bob")
    let session = try await fixture.started("bob")
    try await bobs.approveOnly()
    #expect(try LostDeviceSessions.ended(in: try await lose(fixture, "?end_sessions=1").body) == 0)
    #expect(try await fixture.status(of: session).status == .active)
  }

  /// As the published clients ask. The service does not report sessions then.
  @Test func aLossThatSaysNothingOfSessionsIsAnsweredAsBefore() async throws {
    let fixture = try await fixtureWithUser()
    #expect(try LostDeviceSessions.ended(in: try await lose(fixture).body) == nil)
  }

  @Test(
    arguments: [
      "?end_sessions=", "?end_sessions=0", "?end_sessions=1&end_sessions=1", "?keep_sessions=a",
      "?end_sessions=1&keep_sessions=a&keep_sessions=b", "?end_sessions=1&keep_sessions=a%20b",
      "?end_sessions=1&keep_sessions="
        + Array(repeating: "a", count: LostDeviceSessions.greatestKept + 1).joined(
          separator: ","),
    ])
  func wordsThatAreNotUnderstoodCutNothingOff(_ query: String) async throws {
    let fixture = try await fixtureWithUser()
    _ = try await TestPhone.registered(in: fixture)
    #expect(try await lose(fixture, query).status == 400)
    #expect(try await hasDevice(fixture))
  }

  @Test func aNameThatStandsTwiceIsAddedAndListedOnce() async throws {
    let fixture = try await fixtureWithUser()
    // The last two look alike but are two users.
    let names = ["bob", "alice", "bob", "alice", "\u{E9}", "e\u{301}"]
    let reply = await fixture.respond(
      try fixture.signed(
        "POST", "/management/add_users/\(fixture.application.id)", UsersRequest(users: names).encoded()))
    let added = try AddUsersReply(parsing: reply.body)
    #expect(added.created.map { Array($0.utf8) } == ["bob", "\u{E9}", "e\u{301}"].map { Array($0.utf8) })
    #expect(added.existing == ["alice"])
  }

  @Test(arguments: ["", "AAAA", "not base64"])
  func refusesInvalidKeys(_ key: String) async throws {
    let fixture = try await fixtureWithUser()
    let body = RegisterRequest(code: try await fixture.linkCode(for: "alice"), publicKey: key).encoded()
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.register, body)).status == 400)
  }

  @Test func deletingAUserClosesTheSessionsAndCutsThePhoneOff() async throws {
    let fixture = try await fixtureWithUser()
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    let target = "/management/delete_users/\(fixture.application.id)"
    let reply = await fixture.respond(
      try fixture.signed("POST", target, UsersRequest(users: ["alice"]).encoded()))
    #expect(reply.status == 200)
    #expect(try await fixture.status(of: session).reason == "USER_DELETED")
    #expect(
      await fixture.respond(TestPhone.request(DeviceRoute.status, try phone.askBody(.status))).reason
        == "DEVICE_CUT_OFF")
  }
}
