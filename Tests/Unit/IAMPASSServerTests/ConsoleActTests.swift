import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What the console changes and shows.
@Suite struct ConsoleActTests {
  private func office() async throws -> (Fixture, TestPhone, ConsoleVisitor, String) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await ConsoleVisitor.admitted(to: fixture), "/application/\(fixture.application.id)")
  }

  private let settings = [
    "walkaway": "on", "match_code": "on", "answer_time": "60", "greatest_duration": "3600", "hook": "",
  ]

  @Test func anApplicationIsAddedAndItsSecretShown() async throws {
    let (fixture, _, visitor, _) = try await office()
    let page = await visitor.post("/applications", ["name": " Office <b>"]).text
    let id = try #require(page.firstMatch(of: /application_id = ([0-9a-f]{32})/)).1
    let made = try await fixture.service.storage.signInClient(String(id))
    #expect(made?.application.name == "Office <b>")
    #expect(page.contains("application_secret = " + HTML.escaped(try #require(made).secret.exposedValue)))
    let list = await visitor.get("/applications").text
    #expect(list.contains("Office &lt;b&gt;"))
    #expect(!list.contains("<b>"))
  }

  @Test(arguments: ["", "shop", "a\nb"])
  func aBadNameIsSaid(_ name: String) async throws {
    let (_, _, visitor, _) = try await office()
    let reply = await visitor.post("/applications", ["name": name])
    #expect(reply.status == 400)
    #expect(reply.text.contains("role=\"alert\""))
  }

  @Test func aNewSecretReplacesTheOldAndLiveSessionsGoOn() async throws {
    let (fixture, phone, visitor, path) = try await office()
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    #expect(await visitor.post(path + "/secret", [:]).text.contains("application_secret = "))
    #expect(await fixture.respond(try fixture.startRequest("alice")).status == 401)
    // Replies about it are signed as at its start.
    let request = try fixture.signed("GET", session.statusURL, by: session)
    let reply = await fixture.respond(request)
    #expect(reply.status == 200)
    #expect(try reply.isSigned(for: request, by: fixture.application.secret))
  }

  @Test func aDisabledApplicationSignsInNobodyAndManagesNobody() async throws {
    let (fixture, phone, visitor, path) = try await office()
    _ = try await fixture.started("alice")
    #expect(await visitor.post(path + "/disable", [:]).status == 303)
    #expect(try await phone.list() == [])
    #expect(try await fixture.start("alice") == .notStarted(reason: "APPLICATION_DISABLED"))
    let added = try fixture.signed(
      "POST", "/management/add_users/\(fixture.application.id)", UsersRequest(users: ["bob"]).encoded())
    #expect(await fixture.respond(added).reason == "APPLICATION_DISABLED")
    _ = await visitor.post(path + "/enable", [:])
    _ = try await fixture.started("alice")
  }

  @Test func aCredentialIsMadeRenamedAndRevoked() async throws {
    let (fixture, _, visitor, path) = try await office()
    let made = await visitor.post(path + "/credentials", ["name": "laptop", "host": "laptop-7"]).text
    let id = try #require(made.firstMatch(of: /application_id = ([0-9a-f]{32})/)).1
    #expect(await visitor.post(path + "/credential/\(id)/rename", ["name": "Ada's"]).status == 303)
    #expect(await visitor.get(path).text.contains("Ada&#39;s"))
    #expect(await visitor.post(path + "/credential/\(id)/revoke", [:]).status == 303)
    let stored = try await fixture.service.storage.hostCredentials(of: "shop")
    #expect(stored.map(\.name) == ["Ada's"] && stored.allSatisfy(\.isRevoked))
  }

  @Test func anEmptyFieldTakesAListedUsersGroupsAway() async throws {
    let (fixture, _, visitor, path) = try await office()
    for (field, groups) in [("lab office", ["lab", "office"]), ("", [])] {
      _ = await visitor.post(path + "/users", ["name": "bob", "groups": field])
      #expect(try await fixture.service.storage.listedUsers(of: "shop").map(\.groups) == [groups])
    }
  }

  @Test func settingsHoldForRequestsFromNowOn() async throws {
    let (fixture, phone, visitor, path) = try await office()
    var wanted = settings
    wanted["answer_time"] = "20"
    wanted["greatest_duration"] = "100"
    wanted["walkaway"] = nil
    // A tap is enough for these tests.
    wanted["match_code"] = "off"
    #expect(await visitor.post(path + "/settings", wanted).status == 303)
    let session = try await fixture.started("alice", query: "?duration_seconds=900")
    #expect(try await phone.list().first?.secondsLeft == 20)
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    try await phone.change(.leave)
    #expect(try await fixture.status(of: session).status == .active)
    fixture.clock.advance(seconds: 100)
    #expect(try await fixture.status(of: session).reason == "EXPIRED")
  }

  @Test func codesCanBeRequired() async throws {
    let (fixture, _, visitor, path) = try await office()
    var wanted = settings
    wanted["match_code"] = "required"
    #expect(await visitor.post(path + "/settings", wanted).status == 303)
    #expect(await visitor.get(path).text.contains("<option value=\"required\" selected>"))
    let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("POST", target))
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "CONTEXT_REQUIRED"))
  }

  @Test func aRequestTimesOutAfterItsOwnTime() async throws {
    let (fixture, _, visitor, path) = try await office()
    var wanted = settings
    wanted["answer_time"] = "20"
    _ = await visitor.post(path + "/settings", wanted)
    let session = try await fixture.started("alice")
    fixture.clock.advance(seconds: 20)
    #expect(try await fixture.status(of: session).status == .timeout)
  }

  @Test(arguments: [
    ("answer_time", "9"), ("answer_time", "301"), ("answer_time", "x"), ("greatest_duration", "0"),
    ("greatest_duration", "2592001"), ("match_code", "maybe"), ("synced_passkeys", "on"), ("hook", "relative"),
    ("hook", "/no/such/program"),
    ("hook", "/tmp"),
  ])
  func aBadSettingIsSaidAndNothingStored(_ name: String, _ value: String) async throws {
    let (fixture, _, visitor, path) = try await office()
    var wanted = settings
    wanted[name] = value
    func stored() async throws -> ApplicationSettings {
      try await fixture.service.storage.read { [id = fixture.application.id] in
        try ApplicationSettings.of(id, in: $0)
      }
    }
    let before = try await stored()
    #expect(await visitor.post(path + "/settings", wanted).status == 400)
    #expect(try await stored() == before)
  }

  @Test func aUsersLinkIsShownWithItsCode() async throws {
    let (fixture, _, visitor, path) = try await office()
    try await fixture.addUser("bob")
    let page = await visitor.post(path + "/user/2/link", ["display_name": "Bob"]).text
    #expect(page.contains("<svg class=\"code\""))
    let code = try #require(page.firstMatch(of: /\/register\/([0-9a-f]+)/)).1
    #expect(try await TestPhone.register(in: fixture, code: Secret(String(code))).status == 200)
  }

  @Test func aLostPhoneIsCutOffAtOnce() async throws {
    let (_, phone, visitor, path) = try await office()
    #expect(await visitor.post(path + "/user/1/lost", [:]).text.contains("/register/"))
    #expect(try await phone.change(.leave).reason == "DEVICE_CUT_OFF")
  }

  @Test(arguments: [([:] as [String: String], "PHONE_LOST" as String?), (["keep_sessions": "on"], nil)])
  func aLostPhonesSessionsEndUnlessTheyAreKept(_ fields: [String: String], _ reason: String?) async throws {
    let (fixture, phone, visitor, path) = try await office()
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    #expect(try await fixture.status(of: session).status == .active)
    #expect(await visitor.post(path + "/user/1/lost", fields).text.contains("/register/"))
    #expect(try await fixture.status(of: session).reason == reason)
  }

  @Test func whatIsHeldBackFromAUserIsShownAndLetThrough() async throws {
    let (fixture, phone, visitor, path) = try await office()
    #expect(!(await visitor.get(path + "/user/1").text.contains("/user/1/unblock")))
    for _ in 0..<3 {
      _ = try await fixture.started("alice")
      try await phone.answer(.deny, to: try #require(try await phone.list().first))
    }
    #expect(try await fixture.start("alice") == .notStarted(reason: "TOO_MANY_DENIALS"))
    let page = await visitor.get(path + "/user/1").text
    #expect(page.contains("/user/1/unblock") && page.contains("25 minutes: 3."))
    #expect(await visitor.post(path + "/user/1/unblock", [:]).status == 303)
    _ = try await fixture.started("alice")
    #expect(!(await visitor.get(path + "/user/1").text.contains("/user/1/unblock")))
    #expect(await visitor.get("/audit").text.contains("block lifted"))
  }

  @Test func aDeletedUserIsGone() async throws {
    let (fixture, _, visitor, path) = try await office()
    #expect(await visitor.post(path + "/user/1/delete", [:]).status == 303)
    #expect(await fixture.respond(try fixture.startRequest("alice")).status == 404)
    #expect(await visitor.get(path + "/user/1").status == 404)
  }

  @Test func anotherApplicationsUserIsNotThere() async throws {
    let (fixture, _, visitor, _) = try await office()
    let other = try await fixture.service.storage.createApplication(named: "other", at: fixture.clock.now)
    #expect(await visitor.post("/application/\(other.id)/user/1/delete", [:]).status == 404)
    _ = try await fixture.started("alice")
  }

  @Test func aSessionIsLoggedOut() async throws {
    let (fixture, phone, visitor, _) = try await office()
    let session = try await fixture.started("alice", context: SignInContext(host: "<script>web"))
    try await phone.approveOnly()
    let list = await visitor.get("/sessions").text
    #expect(list.contains("&lt;script&gt;web") && !list.contains("<script>"))
    let end = try #require(list.firstMatch(of: /\/console(\/sessions\/[0-9a-f]+\/end)/)).1
    #expect(await visitor.post(String(end), [:]).status == 303)
    #expect(try await fixture.status(of: session).reason == "LOGGED_OUT")
  }

  @Test func whatComputersSayOfThemselvesIsShownAsOnThePhone() async throws {
    let (fixture, phone, visitor, _) = try await office()
    _ = try await fixture.started("alice", context: SignInContext(host: "web  1\u{AD}", service: "su\u{202E}do"))
    try await phone.approveOnly()
    for page in ["/sessions", "/audit"] {
      #expect(await visitor.get(page).text.contains("web‹2 spaces›1‹U+00AD›, su‹U+202E›do"))
    }
    #expect(await visitor.get("/audit.jsonl").text.contains(#""host":"web  1\u00ad","service":"su\u202edo""#))
  }

  @Test func theAuditIsListedAndExported() async throws {
    let (fixture, phone, visitor, _) = try await office()
    _ = try await fixture.started("alice", context: SignInContext(host: "web-1", service: "sshd"))
    try await phone.approveOnly()
    #expect(await visitor.get("/audit").text.contains("web-1, sshd"))
    let lines = await visitor.get("/audit.jsonl").text.split(separator: "\n")
    let events = try lines.map { try JSON(parsing: Array($0.utf8))["event"]?.string }
    #expect(
      events == [
        "application made", "user added", "registration link made", "phone registered", "console link made",
        "console sign-in", "asked", "approved", "audit exported",
      ])
  }

  @Test func aUsersTokenIsNotShownWhole() async throws {
    let (fixture, _, visitor, path) = try await office()
    let token = "0123456789abcdef0123456789abcdef"
    try await fixture.addUser(token)
    for page in ["", path, path + "/user/2", "/audit", "/audit.jsonl"] {
      #expect(!(await visitor.get(page).text.contains(token)))
    }
  }
}
