import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Who is let into the console.
@Suite struct ConsoleAccessTests {
  @Test func aLinkWorksOnce() async throws {
    let fixture = try await Fixture()
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    let visitor = ConsoleVisitor(fixture: fixture)
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
    #expect(await ConsoleVisitor(fixture: fixture).post("/enter", ["code": code]).status == 404)
  }

  @Test func theCookieIsOutOfReach() async throws {
    let fixture = try await Fixture()
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now).exposedValue
    let reply = await ConsoleVisitor(fixture: fixture).post("/enter", ["code": code])
    let cookie = try #require(reply.header("Set-Cookie"))
    #expect(cookie.hasPrefix("__Host-"))
    for word in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
      #expect(cookie.contains("; " + word))
    }
  }

  /// Swift treats a Greek question mark as a semicolon. The browser does not, and another host has set `x` in it.
  @Test func anotherCookiesTextIsNotACookie() async throws {
    var visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    let own = try #require(visitor.cookie)
    visitor.cookie = own + "; x=1\u{37E}" + own
    #expect(await visitor.get("").status == 200)
    visitor.cookie = "x=1\u{37E}" + own
    #expect(await visitor.get("").status == 401)
  }

  @Test(arguments: [
    "", "/application/x", "/sessions", "/audit", "/audit.jsonl", "/application/x/user/1", "/application/x/groups",
    "/application/x/group?name=lab",
  ])
  func nothingIsShownWithoutSigningIn(_ path: String) async throws {
    let fixture = try await Fixture()
    let reply = await ConsoleVisitor(fixture: fixture).get(path, accept: nil)
    #expect(reply.status == 401)
    #expect(try AcknowledgementReply(parsing: reply.body).reason == "NOT_SIGNED_IN")
    #expect(await ConsoleVisitor(fixture: fixture).get(path).text.contains("console-link"))
  }

  @Test func whoIsIdleForAnHourIsSignedOut() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    visitor.fixture.clock.advance(seconds: 3_599)
    #expect(await visitor.get("").status == 200)
    visitor.fixture.clock.advance(seconds: 3_599)
    #expect(await visitor.get("").status == 200)
    visitor.fixture.clock.advance(seconds: 3_600)
    #expect(await visitor.get("").status == 401)
  }

  @Test func afterTwelveHoursEverybodyIsSignedOut() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    for _ in 0..<23 {
      visitor.fixture.clock.advance(seconds: 1_800)
      #expect(await visitor.get("").status == 200)
    }
    visitor.fixture.clock.advance(seconds: 1_800)
    #expect(await visitor.get("").status == 401)
  }

  @Test func whoSignsOutIsOut() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    #expect(await visitor.post("/leave", [:]).status == 200)
    #expect(await visitor.get("").status == 401)
  }

  @Test func aFormOfAnotherSiteChangesNothing() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    for origin in ["https://elsewhere.test", "null", nil] {
      let reply = await visitor.post("/applications", ["name": "stolen"], origin: origin)
      #expect(reply.status == 403)
      #expect(try AcknowledgementReply(parsing: reply.body).reason == "WRONG_ORIGIN")
    }
    let forged = await visitor.post("/applications", ["name": "stolen", "token": "0"])
    #expect(forged.reason == "BAD_FORM_TOKEN")
    #expect(!(await visitor.get("/applications").text.contains("stolen")))
  }

  @Test func everyPageHasAStrictPolicy() async throws {
    let visitor = try await ConsoleVisitor.admitted(to: try await Fixture())
    for path in ["", "/sessions", "/audit", "/style.css", "/times.js", "/nothing", "/enter/x"] {
      let policy = try #require(await visitor.get(path).header("Content-Security-Policy"))
      #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
      #expect(!policy.contains("unsafe") && policy.contains("script-src 'self';"))
    }
  }

  @Test func guessingLinksIsLimited() async throws {
    let fixture = try await Fixture()
    let visitor = ConsoleVisitor(fixture: fixture)
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

  @Test func leavingTheConsoleAndTakingTheAuditAreInTheAudit() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    #expect(await visitor.get("/audit.jsonl").status == 200)
    #expect(await visitor.post("/leave", [:]).status == 200)
    // It has left: there is nothing more to note.
    #expect(await visitor.post("/leave", [:]).status == 401)
    #expect(await visitor.get("/audit.jsonl").status == 401)
    let entries = try await fixture.service.storage.auditEntries(after: 0).suffix(3)
    #expect(entries.map(\.event) == ["console sign-in", "audit exported", "console sign-out"])
    #expect(Set(entries.map { $0.actor?.text }).count == 1 && entries.last?.actor?.kind == "console")
    #expect(entries.allSatisfy { $0["address"] == entries.first?["address"] })
    #expect(entries.map { $0["administrator"] } == [nil, ConsoleAccess.linkName, ConsoleAccess.linkName])
  }

  @Test(arguments: StorageEngine.allCases)
  func aVisitIsLeftOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await room.storage.createConsoleLink(at: room.now)
    #expect(try await room.storage.enterConsole(by: code, key: Secret("key"), from: .unknown, at: room.now))
    for _ in 0..<2 { try await room.storage.leaveConsole(Secret("key"), at: room.now) }
    #expect(try await room.storage.consoleVisit(Secret("key"), at: room.now) == nil)
    try await AuditActor.$current.withValue(.command(user: 0, login: nil)) {
      try await room.storage.noteExport(to: .unknown, at: room.now)
    }
    let entries = try await room.storage.auditEntries(after: 0, limit: 100).suffix(3)
    #expect(entries.map(\.event) == ["console sign-in", "console sign-out", "audit exported"])
    #expect(entries.map(\.at) == [UnixTime](repeating: room.now, count: 3))
    #expect(entries.last?.actor?.text == "cli:0")
  }
}
