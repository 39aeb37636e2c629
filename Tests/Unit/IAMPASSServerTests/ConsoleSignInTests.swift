import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Administrators sign browsers in by their phones.
@Suite struct ConsoleSignInTests {
  @Test func thePhoneShowsWhoAsksForWhatAndItsApprovalOpensTheConsole() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    var visitor = ConsoleVisitor(fixture: fixture)
    let asked = await visitor.ask("ada")
    #expect(asked.status == 303)
    let waiting = await visitor.get("/sign-in")
    #expect(waiting.status == 200 && waiting.header("Refresh") == "3")
    let code = try #require(waiting.text.firstMatch(of: /class="digits">([0-9]{2})</)).1
    let request = try #require(try await phone.list().first)
    #expect(request.context.service == "console of iampass.test")
    #expect(request.context.user == "ada" && request.context.remoteHost != nil)
    #expect(try await phone.answer(.approve, to: request, code: String(code)).status == 200)
    await visitor.enter()
    #expect(await visitor.get("").text.contains("ada, admin"))
    // The approval opened one browser, once.
    #expect(await ConsoleVisitor(fixture: fixture).get("/sign-in").status == 401)
    let signIn = try #require(try await fixture.service.core.storage.auditEntries(after: 0, limit: 1_000).last)
    #expect(signIn.event == "console sign-in" && signIn["administrator"] == "ada")
    #expect(signIn["approval"] == request.session)
    let kept = try await fixture.service.core.storage.keptAnswers(after: 0, limit: 9)
    #expect(kept.contains { $0.jsonLine.contains(request.session) && $0.jsonLine.contains("console of iampass.test") })
  }

  @Test func aBrowserThatHasGoneRingsNobody() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let gone = ServiceRequest(
      method: "POST", target: "/console/sign-in", authority: Fixture.authority,
      headers: [(name: "Origin", value: Fixture.origin)], body: Array("name=ada".utf8), hasLeft: { true })
    #expect(await fixture.respond(gone).status == 503)
    #expect(try await phone.list().isEmpty)
    var visitor = ConsoleVisitor(fixture: fixture)
    let asked = await visitor.ask("ada")
    #expect(asked.status == 303)
    #expect(try await phone.list().count == 1)
  }

  @Test func whoeverSignsOutIsNamedInTheAudit() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await visitor.post("/leave", [:]).status == 200)
    let entries = try await fixture.service.core.storage.auditEntries(after: 0, limit: 1_000)
    let signIn = try #require(entries.last { $0.event == "console sign-in" })
    let signOut = try #require(entries.last { $0.event == "console sign-out" })
    #expect(signOut["administrator"] == "ada" && signOut.actor == signIn.actor)
    #expect(signOut["approval"] == signIn["approval"] && signIn["approval"] != nil)
  }

  @Test func whatAnAdministratorDidRefersToThePhonesApproval() async throws {
    let fixture = try await Fixture()
    let (visitor, phone) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    _ = await visitor.post("/applications", ["name": "lab"])
    let entries = try await fixture.service.core.storage.auditEntries(after: 0, limit: 1_000)
    let made = try #require(entries.last { $0.event == "application made" })
    #expect(made["administrator"] == "ada")
    let approved = try #require(entries.last { $0.event == "approved" && $0["phone"] == "ada" })
    #expect(made["approval"] == approved["session"])
    #expect(await visitor.get("/audit").text.contains("ada"))
    withExtendedLifetime(phone) {}
  }

  @Test func aDenialAWrongCodeAndSilenceOpenNothing() async throws {
    for answer in ["deny", "wrong", "silence"] {
      let fixture = try await Fixture(matchCodes: .on)
      let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
      var visitor = ConsoleVisitor(fixture: fixture)
      _ = await visitor.ask("ada")
      let request = try #require(try await phone.list().first)
      let code = try #require(await visitor.get("/sign-in").text.firstMatch(of: /class="digits">([0-9]{2})</)).1
      switch answer {
      case "deny": try await phone.answer(.deny, to: request)
      case "wrong": try await phone.answer(.approve, to: request, code: code == "00" ? "01" : "00")
      default: fixture.clock.advance(seconds: SessionLifecycle.answerTime)
      }
      let reply = await visitor.get("/sign-in")
      #expect(reply.status == 403 && reply.text.contains("role=\"alert\""), "\(answer)")
      #expect(reply.header("Set-Cookie") == nil)
      #expect(await visitor.get("").status == 401)
    }
  }

  /// A stranger does not learn who is an administrator.
  @Test func aNameThatNobodyHasLooksTheSame() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    var (known, unknown) = (ConsoleVisitor(fixture: fixture), ConsoleVisitor(fixture: fixture))
    let (one, other) = (await known.ask("ada"), await unknown.ask("nobody"))
    #expect(one.status == other.status && one.headers.map(\.name) == other.headers.map(\.name))
    func text(_ visitor: ConsoleVisitor) async -> String {
      await visitor.get("/sign-in").text.replacing(/class="digits">[0-9]{2}</, with: "")
    }
    #expect(await text(known) == text(unknown))
    fixture.clock.advance(seconds: SessionLifecycle.answerTime)
    #expect(await text(known) == text(unknown))
  }

  @Test func aSecondTryTakesThePlaceOfTheFirst() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    var visitor = ConsoleVisitor(fixture: fixture)
    for _ in 0..<3 { _ = await visitor.ask("ada") }
    #expect(try await phone.list().count == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverFindsNoPlaceRingsNobodyAndKeepsTheirRequest(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let ada = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let bo = try await TestPhone.administrator(in: fixture, "bo", .admin)
    var waiting = ConsoleVisitor(fixture: fixture)
    _ = await waiting.ask("ada")
    let open = try await ada.list().map(\.session)
    try await fixture.service.core.storage.takeAllPlaces(at: fixture.clock.now)
    var late = ConsoleVisitor(fixture: fixture)
    #expect(await late.ask("bo").status == 503)
    #expect(try await bo.list().isEmpty)
    #expect(await waiting.ask("ada").status == 503)
    #expect(try await ada.list().map(\.session) == open && open.count == 1)
    fixture.clock.advance(seconds: ConsoleSignInRequest.lifetime)
    #expect(await late.ask("bo").status == 303)
    #expect(try await bo.list().count == 1)
  }

  /// A stranger with many addresses locks nobody out who asks from another network.
  @Test(arguments: StorageEngine.allCases)
  func anotherNetworkFindsAPlaceThoughAStrangersHasThemAll(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    try await fixture.service.core.storage.takeAllPlaces(at: fixture.clock.now)
    func ask(from peer: String?) async -> Int {
      await fixture.respond(
        ServiceRequest(
          method: "POST", target: "/console/sign-in", authority: Fixture.authority,
          headers: [("Origin", Fixture.origin)], body: Array("name=ada".utf8), peer: peer)
      ).status
    }
    #expect(await ask(from: nil) == 503)
    #expect(try await phone.list().isEmpty)
    #expect(await ask(from: "192.0.2.7") == 303)
    #expect(try await phone.list().count == 1)
  }

  /// As after a database that kept the service waiting.
  @Test(arguments: StorageEngine.allCases)
  func aRequestWhoseBrowserHasLostItsPlaceIsEnded(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine) { inner in
      LosingStorage(inner, losing: -1, .before) { name in
        guard name == "start(_:at:deciding:)" else { return }
        try? await inner.takeAllPlaces(at: inner.now().advanced(seconds: ConsoleSignInRequest.lifetime))
      }
    }
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    var visitor = ConsoleVisitor(fixture: fixture)
    #expect(await visitor.ask("ada").status == 503)
    #expect(try await phone.list().isEmpty)
    let events = try await fixture.service.core.storage.auditEntries(after: 0, limit: 1_000).map(\.event)
    #expect(events.contains("asked"))
  }

  @Test func signInsOfOneAddressAreLimited() async throws {
    let fixture = try await Fixture()
    var visitor = ConsoleVisitor(fixture: fixture)
    for _ in 0..<FailureLimits.allowance(.consoleSignIn).failures { #expect(await visitor.ask("nobody").status == 303) }
    #expect(await visitor.ask("nobody").status == 429)
    fixture.clock.advance(seconds: FailureLimits.allowance(.consoleSignIn).window)
    #expect(await visitor.ask("nobody").status == 303)
  }

  @Test func aFormOfAnotherSiteRingsNobody() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let reply = await ConsoleVisitor(fixture: fixture).post(
      "/sign-in", ["name": "ada"], origin: "https://elsewhere.test")
    #expect(reply.status == 403)
    #expect(try await phone.list().isEmpty)
  }

  @Test func formsOfAnotherSiteDoNotUseUpAnAddresssSignIns() async throws {
    let fixture = try await Fixture()
    var visitor = ConsoleVisitor(fixture: fixture)
    for _ in 0...FailureLimits.allowance(.consoleSignIn).failures {
      let reply = await visitor.post("/sign-in", ["name": "ada"], origin: "https://elsewhere.test")
      #expect(reply.status == 403)
    }
    #expect(await visitor.ask("ada").status == 303)
  }

  @Test func signingOutAndThePhonesOwnEndCloseTheVisit() async throws {
    let fixture = try await Fixture()
    let (visitor, phone) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    let session = try #require(try await fixture.service.core.storage.liveSessions().first).session.id
    #expect(try await phone.end([session]).status == 200)
    #expect(await visitor.get("").status == 401)
    let (second, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin, by: phone)
    #expect(await second.post("/leave", [:]).status == 200)
    #expect(try await fixture.service.core.storage.liveSessions().isEmpty)
  }

  /// Whoever found the phone does nothing more with it, also in a browser that it opened before.
  @Test func anAdministratorsLostPhoneEndsTheirVisitsAtOnce() async throws {
    let fixture = try await Fixture()
    let (found, phone) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await found.post("/applications", ["name": "one"]).status == 200)
    let other = try await ConsoleVisitor.admitted(to: fixture)
    #expect(await other.post("/administrators/ada/lost", [:]).text.contains("/register/"))
    #expect(await found.get("").status == 401)
    #expect(await found.post("/applications", ["name": "two"]).status == 401)
    var again = ConsoleVisitor(fixture: fixture)
    _ = await again.ask("ada")
    #expect(try await phone.change(.leave).reason == "DEVICE_CUT_OFF")
    let entries = try await fixture.service.core.storage.newestAuditEntries(before: nil, limit: 50)
    #expect(entries.contains { $0.event == "phone cut off" && $0["administrator"] == ConsoleAccess.linkName })
  }
}

extension TestPhone {
  /// Adds an administrator, and registers a phone for them.
  static func administrator(
    in fixture: Fixture, _ name: String, _ role: AdministratorRole
  ) async throws -> TestPhone {
    let storage = fixture.service.core.storage
    _ = try await storage.addAdministrator(name, role: role, at: fixture.clock.now)
    guard
      case .code(let code) = try await storage.invitation(
        ofAdministrator: name, isLost: false, at: fixture.clock.now)
    else { throw StorageFixture.NotStarted() }
    let key = try DeviceKey.generate()
    let reply = try await register(in: fixture, code: code, key: key)
    return TestPhone(fixture: fixture, key: key, device: try RegisterReply(parsing: reply.body).device)
  }
}

extension ConsoleVisitor {
  /// - Parameter phone: nil: a new one, of a new administrator.
  static func signedIn(
    to fixture: Fixture, as role: AdministratorRole, by phone: TestPhone? = nil
  ) async throws -> (ConsoleVisitor, TestPhone) {
    let phone =
      if let phone { phone } else { try await TestPhone.administrator(in: fixture, "ada", role) }
    var visitor = ConsoleVisitor(fixture: fixture)
    _ = await visitor.ask("ada")
    let code = await visitor.get("/sign-in").text.firstMatch(of: /class="digits">([0-9]{2})</).map { String($0.1) }
    let request = try #require(try await phone.list().first)
    #expect(try await phone.answer(.approve, to: request, code: code ?? "").status == 200)
    await visitor.enter()
    return (visitor, phone)
  }

  /// Asks for a sign-in by the phone of `name`.
  mutating func ask(_ name: String) async -> ServiceReply {
    let reply = await post("/sign-in", ["name": name])
    if let cookie = reply.header("Set-Cookie")?.split(separator: ";").first { self.cookie = String(cookie) }
    return reply
  }

  /// Looks whether the phone has approved.
  mutating func enter() async {
    let reply = await get("/sign-in")
    #expect(reply.status == 303)
    let cookies = reply.headers.filter { $0.name == "Set-Cookie" }.map { String($0.value.prefix { $0 != ";" }) }
    cookie = cookies.first { $0.hasPrefix(Console.cookie + "=") }
    let page = await get("").text
    token = page.firstMatch(of: /name="token" value="([0-9a-f]+)"/).map { String($0.1) }
  }
}
