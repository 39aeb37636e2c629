import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What each role may do in the console, and how administrators sign in.
@Suite struct ConsoleRoleTests {
  /// Real values for the parts of an address, so that whatever is refused is refused for the role.
  private struct Place {
    let fixture: Fixture
    let user: Int64
    let credential: String
    let session: String
    let join: String

    init() async throws {
      fixture = try await Fixture()
      let storage = fixture.service.core.storage
      let phone = try await TestPhone.registered(in: fixture)
      user = try #require(try await storage.user("alice", of: fixture.application.id)).user.id
      credential = try await storage.createHostCredential(
        named: "desk", host: "desk", of: fixture.application.id, at: fixture.clock.now
      ).id
      _ = try await fixture.started("alice")
      try await phone.approveOnly()
      session = try #require(try await storage.liveSessions().first).session.id
      join = try await storage.createJoinCode(
        JoinOrder(application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: false),
        at: fixture.clock.now
      ).id
      _ = try await storage.addAdministrator("zoe", role: .admin, at: fixture.clock.now)
    }

    func path(_ rule: ConsoleRule) -> String {
      var parts = ConsoleRule.segments(rule.pattern)
      for (index, part) in parts.enumerated() where part == "*" {
        parts[index] =
          switch parts[index - 1] {
          case "application": fixture.application.id
          case "user": "\(user)"
          case "credential": credential
          case "sessions": session
          case "joins": join
          case "administrators": "zoe"
          default: "x"
          }
      }
      return parts.isEmpty ? "" : "/" + parts.joined(separator: "/")
    }
  }

  @Test func everyAddressOfTheConsoleHasARule() {
    let acts =
      ConsoleRoute.ApplicationAct.allCases.map { "/application/a/\($0.rawValue)" }
      + ConsoleRoute.CredentialAct.allCases.map { "/application/a/credential/c/\($0.rawValue)" }
      + ConsoleRoute.UserAct.allCases.map { "/application/a/user/1/\($0.rawValue)" }
      + ConsoleRoute.JoinAct.allCases.map { "/joins/j/\($0.rawValue)" }
      + ConsoleRoute.AdministratorAct.allCases.map { "/administrators/n/\($0.rawValue)" }
    let others = [
      "/", "/style.css", "/times.js", "/enter", "/enter/x", "/sign-in", "/leave", "/applications", "/application/a",
      "/application/a/user/1", "/application/a/groups", "/application/a/group", "/joins", "/joins/j", "/sessions",
      "/sessions/s/end", "/audit", "/audit.jsonl", "/administrators", "/administrators/sign",
    ]
    var found = 0
    for path in acts + others {
      let segments = ConsoleRule.segments(path)
      guard let route = ConsoleRoute(segments) else {
        Issue.record("\(path) is not a route")
        continue
      }
      for method in route.methods {
        #expect(ConsoleRule.find(method, segments) != nil, "\(method) \(path)")
        found += 1
      }
    }
    // Nothing has a rule that is not an address.
    #expect(found == ConsoleRule.all.count)
  }

  /// The other tests here go by the table: this one holds the table itself.
  @Test func onlyWhatIsNamedHereNeedsLessThanAnAdmin() {
    func posts(_ role: AdministratorRole?) -> Set<String> {
      Set(ConsoleRule.all.filter { $0.method == "POST" && $0.least == role }.map(\.pattern))
    }
    #expect(posts(nil) == ["/enter", "/sign-in"])
    #expect(posts(.auditor) == ["/leave"])
    #expect(
      posts(.helpdesk) == [
        "/application/*/user/*/link", "/application/*/user/*/lost", "/application/*/user/*/unblock", "/sessions/*/end",
      ])
    let open = ConsoleRule.all.filter { $0.method == "GET" && $0.least == nil }.map(\.pattern)
    #expect(Set(open) == ["/style.css", "/times.js", "/enter/*", "/sign-in"])
  }

  @Test(arguments: AdministratorRole.allCases) func everyRoleMayDoItsOwnAndNoMore(_ role: AdministratorRole)
    async throws
  {
    var place = try await Place()
    var (visitor, _) = try await ConsoleVisitor.signedIn(to: place.fixture, as: role)
    for rule in ConsoleRule.all {
      let path = place.path(rule)
      let reply = rule.method == "GET" ? await visitor.get(path) : await visitor.post(path, [:])
      let isForbidden = reply.reason == "ROLE_TOO_LOW"
      #expect(isForbidden == (rule.least.map { role < $0 } ?? false), "\(rule.method) \(path): \(reply.status)")
      #expect(!isForbidden || reply.status == 403)
      #expect(reply.reason != "NOT_SIGNED_IN" && reply.reason != "BAD_FORM_TOKEN", "\(rule.method) \(path)")
      guard rule.method == "POST", !isForbidden else { continue }
      // What was done may be in the way of the next.
      place = try await Place()
      visitor = try await ConsoleVisitor.signedIn(to: place.fixture, as: role).0
    }
  }

  /// Whatever a form says, and whoever's it is: each address of the table that needs more than the role has.
  @Test(arguments: [AdministratorRole.auditor, .helpdesk])
  func whoeverTriesWhatAnAdminCanChangesNothing(_ role: AdministratorRole) async throws {
    let place = try await Place()
    let storage = place.fixture.service.core.storage
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: place.fixture, as: role)
    let forms: [String: String] = [
      "name": "mallory", "host": "mallory", "role": "admin", "groups": "lab",
      "application": place.fixture.application.id,
      "uses": "5", "days": "5", "unattended": "on", "display_name": "x", "match_code": "off", "answer_time": "60",
      "greatest_duration": "3600", "hook": "",
    ]
    // Each change has its entry.
    let before = try await storage.newestAuditEntries(before: nil, limit: 1_000).count
    var tried = 0
    for rule in ConsoleRule.all where rule.method == "POST" && rule.least.map({ role < $0 }) ?? false {
      for origin in [Fixture.origin, nil] {
        let reply = await visitor.post(place.path(rule), forms, origin: origin)
        #expect(reply.status == 403 && reply.reason == "ROLE_TOO_LOW", "\(rule.pattern)")
      }
      tried += 1
    }
    #expect(tried >= 20)
    #expect(try await storage.newestAuditEntries(before: nil, limit: 1_000).count == before)
  }

  @Test(arguments: [AdministratorRole.auditor, .helpdesk])
  func noPageShowsAFormThatTheRoleMayNotSend(_ role: AdministratorRole) async throws {
    let place = try await Place()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: place.fixture, as: role)
    var forms = 0
    for rule in ConsoleRule.all where rule.method == "GET" && rule.least != nil {
      for match in await visitor.get(place.path(rule)).text.matches(of: /method="post" action="\/console([^"]*)"/) {
        let least = try #require(ConsoleRule.find(posting: String(match.1))).least
        #expect(least.map { role >= $0 } ?? true, "\(match.1)")
        forms += 1
      }
    }
    #expect(forms > 5)
  }

  @Test func aRoleThatIsChangedHoldsAtOnce() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await visitor.post("/applications", ["name": "one"]).status == 200)
    let storage = fixture.service.core.storage
    _ = try await storage.setAdministrator("ada", role: .auditor, keepsOne: false, at: fixture.clock.now)
    #expect(await visitor.post("/applications", ["name": "two"]).reason == "ROLE_TOO_LOW")
    _ = try await storage.removeAdministrator("ada", keepsOne: false, at: fixture.clock.now)
    #expect(await visitor.get("").status == 401)
  }

  /// A role is what the database says: a form, a cookie or a header cannot bring one.
  @Test func forgedRolesAreRefused() async throws {
    let fixture = try await Fixture()
    var (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .auditor)
    let path = "/administrators/ada/role"
    #expect(await visitor.post(path, ["role": "admin"]).reason == "ROLE_TOO_LOW")
    #expect(await visitor.post("/applications?role=admin", ["name": "x", "role": "admin"]).reason == "ROLE_TOO_LOW")
    let own = try #require(visitor.cookie)
    visitor.cookie = own + "; role=admin; __Host-iampass-role=admin"
    #expect(await visitor.post("/applications", ["name": "x"]).reason == "ROLE_TOO_LOW")
    visitor.cookie = "__Host-iampass-console=ada"
    #expect(await visitor.get("").status == 401)
    let admin = try await ConsoleVisitor.admitted(to: fixture)
    #expect(await admin.post(path, ["role": "root"]).status == 400)
  }

  /// Otherwise helpdesk could take over an admin's phone.
  @Test func helpdeskDoesNotTouchAdministrators() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .helpdesk)
    let storage = fixture.service.core.storage
    _ = try await storage.addAdministrator("zoe", role: .admin, at: fixture.clock.now)
    let own = try #require(try await storage.administratorsApplication())
    let zoe = try #require(try await storage.administrators().first { $0.name == "zoe" }?.user)
    for act in ["link", "lost", "unblock"] {
      let reply = await visitor.post("/application/\(own)/user/\(zoe)/\(act)", ["display_name": "x"])
      #expect(reply.reason == "ROLE_TOO_LOW")
    }
    let session = try #require(try await storage.liveSessions().first).session.id
    #expect(await visitor.post("/sessions/\(session)/end", [:]).reason == "ROLE_TOO_LOW")
    #expect(!(await visitor.get("/application/\(own)/user/\(zoe)").text.contains("action=\"/console/application")))
    // Nobody gets the secret by which links for administrators' phones are made.
    let admin = try await ConsoleVisitor.admitted(to: fixture)
    for act in ["secret", "credentials", "users"] {
      #expect(await admin.post("/application/\(own)/\(act)", ["name": "x"]).reason == "OWN_APPLICATION")
    }
  }

  @Test func theSecondOfTwoIsToldThatTheFirstChangedIt() async throws {
    let fixture = try await Fixture()
    let path = "/application/\(fixture.application.id)"
    let (first, second) = (
      try await ConsoleVisitor.admitted(to: fixture), try await ConsoleVisitor.admitted(to: fixture)
    )
    let seen = try #require(await second.get(path).text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)).1
    let settings = [
      "match_code": "on", "answer_time": "40", "greatest_duration": "3600", "hook": "", "seen": String(seen),
    ]
    #expect(await first.post(path + "/settings", settings).status == 303)
    for act in ["settings", "secret", "disable"] {
      let reply = await second.post(path + "/" + act, settings)
      #expect(reply.status == 409 && reply.reason == "CHANGED_MEANWHILE", "\(act)")
    }
    let stored = try await fixture.service.core.storage.settings(of: fixture.application.id)
    #expect(stored.answerTime == 40 && !stored.isDisabled)
    let now = try #require(await second.get(path).text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)).1
    #expect(await second.post(path + "/disable", ["seen": String(now)]).status == 303)
  }

  @Test func theSecondOfTwoIsToldWhicheverSettingTheFirstChanged() async throws {
    let changes: [String: @Sendable (inout ApplicationSettings) -> Void] = [
      "walkaway": { $0.walkaway.toggle() }, "silenceLeaves": { $0.silenceLeaves.toggle() },
      "matchCodes": { $0.matchCodes = .required }, "answerTime": { $0.answerTime = 40 },
      "greatestDuration": { $0.greatestDuration = 3_600 }, "hook": { $0.hook = "/etc/hook" },
      "appsVouchForFaces": { $0.appsVouchForFaces.toggle() }, "phones": { $0.phones = 2 },
      "holdsClones": { $0.holdsClones.toggle() }, "acceptsSyncedPasskeys": { $0.acceptsSyncedPasskeys.toggle() },
    ]
    let members = Mirror(reflecting: ApplicationSettings()).children.compactMap(\.label)
    #expect(Set(members) == Set(changes.keys).union(["isDisabled"]))
    let fixture = try await Fixture()
    let (storage, id) = (fixture.service.core.storage, fixture.application.id)
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    func answer(after change: () async throws -> Void) async throws -> String? {
      let page = await visitor.get("/application/\(id)").text
      let seen = try #require(page.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)).1
      try await change()
      let form = [
        "match_code": "on", "answer_time": "60", "greatest_duration": "3600", "hook": "", "seen": String(seen),
      ]
      return await visitor.post("/application/\(id)/settings", form).reason
    }
    for (name, change) in changes {
      let reason = try await answer { try await storage.changeSettings(of: id, by: change) }
      #expect(reason == "CHANGED_MEANWHILE", "\(name)")
    }
    let reason = try await answer { _ = try await storage.setDisabled(true, of: id, at: fixture.clock.now) }
    #expect(reason == "CHANGED_MEANWHILE")
  }

  @Test func aLostPhoneIsCutOffOnceByTwoAtHelpdesk() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let user = try #require(try await fixture.service.core.storage.user("alice", of: fixture.application.id)).user.id
    let path = "/application/\(fixture.application.id)/user/\(user)"
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let seen = try #require(await visitor.get(path).text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)).1
    #expect(await visitor.post(path + "/lost", ["seen": String(seen)]).status == 200)
    _ = try await TestPhone.registered(in: fixture, lost: true)
    // The page with the old phone must not cut off the new one.
    #expect(await visitor.post(path + "/lost", ["seen": String(seen)]).reason == "CHANGED_MEANWHILE")
  }

  @Test func anAdministratorsLostPhoneIsCutOffOnceByTwo() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let storage = fixture.service.core.storage
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let page = await visitor.get("/administrators").text
    let mark = /administrators\/ada\/lost">\s*<input[^>]*>\s*<input type="hidden" name="seen" value="([0-9a-f]+)"/
    let seen = ["seen": String(try #require(page.firstMatch(of: mark)).1)]
    let link = await visitor.post("/administrators/ada/lost", seen).text
    // The answer to a form is loaded again: the browser sends the form again.
    #expect(await visitor.post("/administrators/ada/lost", seen).reason == "CHANGED_MEANWHILE")
    let code = try #require(link.firstMatch(of: /\/register\/([0-9a-f]+)/)).1
    #expect(try await TestPhone.register(in: fixture, code: Secret(String(code))).status == 200)
    for act in ["lost", "remove", "role"] {
      let reply = await visitor.post("/administrators/ada/" + act, seen.merging(["role": "auditor"]) { $1 })
      #expect(reply.reason == "CHANGED_MEANWHILE", "\(act)")
    }
    #expect(try await storage.administrators().map { $0.phone != nil } == [true])
  }

  @Test func eachFormOfAnAdministratorKnowsWhatItsPageShowed() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = try await fixture.service.core.storage.addAdministrator("zoe", role: .auditor, at: fixture.clock.now)
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let page = await visitor.get("/administrators").text
    let marked = page.matches(
      of: /console\/administrators\/([a-z]+\/[a-z]+)">\s*<input[^>]*>\s*<input type="hidden" name="seen"/)
    #expect(
      marked.map { String($0.1) } == [
        "ada/role", "ada/lost", "ada/remove", "zoe/role", "zoe/link", "zoe/lost", "zoe/remove",
      ])
  }
}
