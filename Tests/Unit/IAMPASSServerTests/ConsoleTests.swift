import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A browser at the console, from the service's side.
private struct Visitor {
  let fixture: Fixture
  var cookie: String?
  var token: String?

  static func admitted(to fixture: Fixture) async throws -> Visitor {
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now)
    var visitor = Visitor(fixture: fixture)
    let reply = await visitor.post("/enter", ["code": code.exposedValue])
    #expect(reply.status == 303)
    visitor.cookie = try #require(reply.header("Set-Cookie")?.split(separator: ";").first.map(String.init))
    let page = await visitor.get("").text
    visitor.token = page.firstMatch(of: /name="token" value="([0-9a-f]+)"/).map { String($0.1) }
    return visitor
  }

  func get(_ path: String, accept: String? = "text/html") async -> ServiceReply {
    await send("GET", path, [], origin: nil, accept: accept)
  }

  /// - Parameter origin: the origin of the page with the form; nil: the browser does not send it.
  func post(
    _ path: String, _ fields: [String: String], origin: String? = Fixture.origin, accept: String? = nil
  ) async -> ServiceReply {
    var all = fields
    if let token { all["token"] = all["token"] ?? token }
    let body = all.map { "\($0.key)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    return await send("POST", path, Array(body.utf8), origin: origin, accept: accept)
  }

  private func send(
    _ method: String, _ path: String, _ body: [UInt8], origin: String?, accept: String?
  ) async -> ServiceReply {
    let headers = [("Cookie", cookie), ("Origin", origin), ("Accept", accept)].compactMap { name, value in
      value.map { (name: name, value: $0) }
    }
    return await fixture.respond(
      ServiceRequest(
        method: method, target: "/console" + path, authority: Fixture.authority, headers: headers, body: body))
  }
}

extension ServiceReply {
  fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}

@Suite struct ConsoleAccessTests {
  @Test func aLinkWorksOnce() async throws {
    let fixture = try await Fixture()
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    let visitor = Visitor(fixture: fixture)
    // Opening it changes nothing.
    for _ in 0..<2 { #expect(await visitor.get("/enter/" + code).status == 200) }
    #expect(await visitor.post("/enter", ["code": code]).status == 303)
    #expect(await visitor.post("/enter", ["code": code]).reason == "UNKNOWN_LINK")
    #expect(await visitor.get("/enter/" + code).status == 404)
  }

  @Test func aLinkWorksForTenMinutes() async throws {
    let fixture = try await Fixture()
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    fixture.clock.advance(seconds: 600)
    #expect(await Visitor(fixture: fixture).post("/enter", ["code": code]).status == 404)
  }

  @Test func theCookieIsOutOfReach() async throws {
    let fixture = try await Fixture()
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    let reply = await Visitor(fixture: fixture).post("/enter", ["code": code])
    let cookie = try #require(reply.header("Set-Cookie"))
    #expect(cookie.hasPrefix("__Host-"))
    for word in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
      #expect(cookie.contains("; " + word))
    }
  }

  /// Swift treats a Greek question mark as a semicolon. The browser does not, and another host has set `x` in it.
  @Test func anotherCookiesTextIsNoCookie() async throws {
    var visitor = try await Visitor.admitted(to: try await Fixture())
    let own = try #require(visitor.cookie)
    visitor.cookie = own + "; x=1\u{37E}" + own
    #expect(await visitor.get("").status == 200)
    visitor.cookie = "x=1\u{37E}" + own
    #expect(await visitor.get("").status == 401)
  }

  @Test(arguments: ["", "/application/x", "/sessions", "/audit", "/audit.jsonl", "/application/x/user/1"])
  func nothingIsShownWithoutSigningIn(_ path: String) async throws {
    let fixture = try await Fixture()
    let reply = await Visitor(fixture: fixture).get(path, accept: nil)
    #expect(reply.status == 401)
    #expect(try AcknowledgementReply(parsing: reply.body).reason == "NOT_SIGNED_IN")
    #expect(await Visitor(fixture: fixture).get(path).text.contains("console-link"))
  }

  @Test func whoIsIdleForAnHourIsSignedOut() async throws {
    let visitor = try await Visitor.admitted(to: try await Fixture())
    visitor.fixture.clock.advance(seconds: 3_599)
    #expect(await visitor.get("").status == 200)
    visitor.fixture.clock.advance(seconds: 3_599)
    #expect(await visitor.get("").status == 200)
    visitor.fixture.clock.advance(seconds: 3_600)
    #expect(await visitor.get("").status == 401)
  }

  @Test func afterTwelveHoursEverybodyIsSignedOut() async throws {
    let visitor = try await Visitor.admitted(to: try await Fixture())
    for _ in 0..<23 {
      visitor.fixture.clock.advance(seconds: 1_800)
      #expect(await visitor.get("").status == 200)
    }
    visitor.fixture.clock.advance(seconds: 1_800)
    #expect(await visitor.get("").status == 401)
  }

  @Test func whoSignsOutIsOut() async throws {
    let visitor = try await Visitor.admitted(to: try await Fixture())
    #expect(await visitor.post("/leave", [:]).status == 200)
    #expect(await visitor.get("").status == 401)
  }

  @Test func aFormOfAnotherSiteChangesNothing() async throws {
    let visitor = try await Visitor.admitted(to: try await Fixture())
    for origin in ["https://elsewhere.test", "null", nil] {
      let reply = await visitor.post("/applications", ["name": "stolen"], origin: origin)
      #expect(reply.status == 403)
      #expect(try AcknowledgementReply(parsing: reply.body).reason == "WRONG_ORIGIN")
    }
    let forged = await visitor.post("/applications", ["name": "stolen", "token": "0"])
    #expect(forged.reason == "BAD_FORM_TOKEN")
    #expect(!(await visitor.get("").text.contains("stolen")))
  }

  @Test func everyPageHasAStrictPolicy() async throws {
    let visitor = try await Visitor.admitted(to: try await Fixture())
    for path in ["", "/sessions", "/audit", "/style.css", "/nothing", "/enter/x"] {
      let policy = try #require(await visitor.get(path).header("Content-Security-Policy"))
      #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
      #expect(!policy.contains("unsafe") && !policy.contains("script"))
    }
  }

  @Test func guessingLinksIsLimited() async throws {
    let fixture = try await Fixture()
    let visitor = Visitor(fixture: fixture)
    for _ in 0..<FailureLimits.allowance(.registration).failures { _ = await visitor.get("/enter/guess") }
    #expect(await visitor.get("/enter/guess").status == 429)
    #expect(await visitor.post("/enter", ["code": "guess"]).status == 429)
    // A person with a link keeps it, and others cannot keep that person out.
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    #expect(await visitor.post("/enter", ["code": code]).status == 303)
  }

  @Test func linksAndSignInsAreInTheAudit() async throws {
    let fixture = try await Fixture()
    let made = fixture.clock.now
    let code = try await fixture.service.storage.createConsoleLink(at: made).exposedValue
    fixture.clock.advance(seconds: 9)
    let reply = await fixture.respond(
      ServiceRequest(
        method: "POST", target: "/console/enter", authority: Fixture.authority,
        headers: [("Origin", Fixture.origin)], body: Array("code=\(code)".utf8), peer: "203.0.113.7"))
    #expect(reply.status == 303)
    let entries = try await fixture.service.storage.auditEntries(after: 0).suffix(2)
    #expect(entries.map(\.event) == ["console link made", "console sign-in"])
    #expect(entries.map(\.at) == [made, made.advanced(seconds: 9)])
    #expect(entries.last?["address"] == "203.0.113.7")
    #expect(!entries.contains { $0.jsonLine.contains(code) })
  }
}

@Suite struct ConsoleActTests {
  private func office() async throws -> (Fixture, TestPhone, Visitor, String) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await Visitor.admitted(to: fixture), "/application/\(fixture.application.id)")
  }

  private let settings = [
    "walkaway": "on", "match_code": "on", "answer_time": "60", "greatest_duration": "3600", "hook": "",
  ]

  @Test func anApplicationIsAddedAndItsSecretShown() async throws {
    let (fixture, _, visitor, _) = try await office()
    let page = await visitor.post("/applications", ["name": " Office <b>"]).text
    let id = try #require(page.firstMatch(of: /application_id = ([0-9a-f]{32})/)).1
    let made = try await fixture.service.storage.read { try Application.find(String(id), in: $0) }
    #expect(made?.name == "Office <b>")
    #expect(page.contains("application_secret = " + HTML.escaped(try #require(made).secret.exposedValue)))
    let list = await visitor.get("").text
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
    ("greatest_duration", "2592001"), ("match_code", "maybe"), ("hook", "relative"), ("hook", "/no/such/program"),
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
    #expect(list.contains("&lt;script&gt;web") && !list.contains("<script"))
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
        "console sign-in", "asked", "approved",
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
