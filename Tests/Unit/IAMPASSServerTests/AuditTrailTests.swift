import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct AuditTrailTests {
  private func office() async throws -> (Fixture, TestPhone) {
    let fixture = try await Fixture()
    return (fixture, try await TestPhone.registered(in: fixture))
  }

  private func trail(_ fixture: Fixture) async throws -> [AuditEntry] {
    try await fixture.service.storage.auditEntries(after: 0)
  }

  private func events(_ fixture: Fixture, of session: String? = nil) async throws -> [String] {
    try await trail(fixture).filter { $0["session"] != nil }.map(\.event)
  }

  @Test func whatWasThereBeforeTheFirstSignInIsListed() async throws {
    let (fixture, _) = try await office()
    #expect(
      try await trail(fixture).map(\.event) == [
        "application made", "user added", "registration link made", "phone registered",
      ])
  }

  @Test func requestsAreListedWithSourceAndAnswer() async throws {
    let (fixture, phone) = try await office()
    let asked = fixture.clock.now
    let context = SignInContext(
      host: "web-1", service: "sshd", user: "alice", tty: "pts/1", remoteHost: "192.0.2.1", command: "secret words")
    let start = try fixture.startRequest("alice", context: context)
    _ = await fixture.respond(
      ServiceRequest(
        method: start.method, target: start.target, authority: start.authority, headers: start.headers,
        body: start.body, peer: "203.0.113.7"))
    fixture.clock.advance(seconds: 3)
    try await phone.approveOnly()
    let entries = try await trail(fixture).suffix(2)
    #expect(entries.map(\.event) == ["asked", "approved"])
    #expect(entries.map(\.at) == [asked, asked.advanced(seconds: 3)])
    for entry in entries {
      let told = [
        "application": "shop", "phone": "Alice", "host": "web-1", "service": "sshd", "account": "alice",
        "tty": "pts/1", "remote_host": "192.0.2.1", "address": "203.0.113.7",
      ]
      for (name, value) in told { #expect(entry[name] == value) }
      // A command line may hold secrets.
      #expect(!entry.jsonLine.contains("secret words"))
    }
  }

  @Test func whatAComputerSaysMakesNoFurtherFieldsOfTheText() async throws {
    let (fixture, _) = try await office()
    let forged = "sudo  account=root  address=10.0.0.9"
    let context = SignInContext(host: "web-1", service: forged, user: #"a"b\c"#, tty: "")
    _ = try await fixture.started("alice", context: context)
    let entry = try #require(try await trail(fixture).last)
    #expect(
      entry.textLine.contains(
        #"  host=web-1  service="sudo  account=root  address=10.0.0.9"  account="a\"b\\c"  tty="""#))
    #expect(try JSON(parsing: Array(entry.jsonLine.utf8))["service"]?.string == forged)
  }

  @Test func aDenialIsListedWithItsReason() async throws {
    let (fixture, phone) = try await office()
    _ = try await fixture.started("alice")
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    let last = try #require(try await trail(fixture).last)
    #expect(last.event == "denied")
    #expect(last["reason"] == "DENIED")
  }

  @Test func aSessionsWholeLifeIsListed() async throws {
    let (fixture, phone) = try await office()
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    try await phone.change(.leave)
    try await phone.change(.return)
    _ = try await fixture.logOut(session)
    #expect(try await events(fixture) == ["asked", "approved", "walked away", "back", "ended"])
    #expect(try await trail(fixture).last?["reason"] == "LOGGED_OUT")
  }

  @Test func aRequestThatNobodyAnsweredIsListedAtItsTime() async throws {
    let (fixture, _) = try await office()
    _ = try await fixture.started("alice")
    let asked = fixture.clock.now
    fixture.clock.advance(seconds: 90)
    try await fixture.service.tidy()
    let last = try #require(try await trail(fixture).last)
    #expect(last["reason"] == "NOT_ANSWERED")
    #expect(last.at == asked.advanced(seconds: SessionLifecycle.answerTime))
  }

  @Test func whichCredentialAskedIsListedAndItsRevocation() async throws {
    let (fixture, _) = try await office()
    let storage = fixture.service.storage
    let credential = try await storage.createHostCredential(
      named: "laptop 7", host: "laptop-7", of: "shop", at: fixture.clock.now)
    _ = await fixture.respond(try fixture.startRequest("alice", context: SignInContext(), by: credential))
    try await storage.revokeHostCredential(named: "laptop 7", of: "shop", at: fixture.clock.now)
    let entries = try await trail(fixture).filter { $0["credential"] == "laptop 7" }
    #expect(entries.map(\.event) == ["credential made", "asked", "credential revoked", "ended"])
  }

  @Test func aRegistrationLinkIsListedWithoutItsCode() async throws {
    let (fixture, _) = try await office()
    fixture.clock.advance(seconds: 5)
    let code = try await fixture.linkCode(for: "alice", lost: true).exposedValue
    let entry = try #require(try await trail(fixture).last)
    #expect(entry.event == "registration link made")
    #expect(entry.at == fixture.clock.now)
    #expect(entry["application"] == "shop" && entry["phone"] == "Alice" && entry["reason"] == "PHONE_LOST")
    #expect(!entry.jsonLine.contains(code))
  }

  @Test func aPhonesCredentialIsListedAndWhenItIsReplaced() async throws {
    let (fixture, phone) = try await office()
    for id in ["first", "second"] {
      try await fixture.service.storage.write { [now = fixture.clock.now] db in
        try VerifiedCredential(id: id, publicKey: "key", counter: 0).insert(phone: phone.device, at: now, in: db)
      }
    }
    let entries = try await trail(fixture).suffix(2)
    #expect(entries.map(\.event) == ["phone credential added", "phone credential replaced"])
    #expect(entries.allSatisfy { $0["phone"] == "Alice" && $0["application"] == "shop" && $0["user"] == "1" })
  }

  @Test func aRenamedCredentialIsListedUnderBothNames() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.storage
    let credential = try await storage.createHostCredential(named: "a", host: "h", of: "shop", at: fixture.clock.now)
    #expect(try await storage.write { try credential.known.rename("b", in: $0) })
    let last = try #require(try await trail(fixture).last)
    #expect(last.event == "credential renamed")
    #expect(last["credential"] == "b" && last["reason"] == "was a")
  }

  private typealias Change = @Sendable (inout ApplicationSettings) -> Void

  private static let changes: [(told: String, change: Change)] = [
    ("walkaway=off", { $0.walkaway = false }), ("silence=on", { $0.silenceLeaves = true }),
    ("match-code=required", { $0.matchCodes = .required }), ("answer-time=20", { $0.answerTime = 20 }),
    ("greatest-duration=900", { $0.greatestDuration = 900 }), ("program=/a/b", { $0.hook = "/a/b" }),
    (
      "walkaway=on answer-time=30",
      {
        $0.walkaway = true
        $0.answerTime = 30
      }
    ),
  ]

  @Test func eachSettingIsListedAsItIsNow() async throws {
    let fixture = try await Fixture()
    for (told, change) in Self.changes {
      try await store(change, in: fixture)
      let last = try #require(try await trail(fixture).last)
      #expect(last.event == "settings changed")
      #expect(last["application"] == "shop" && last["reason"] == told)
    }
  }

  @Test func settingsThatAreStoredAsTheyWereAreNotListed() async throws {
    let fixture = try await Fixture()
    try await store({ _ in }, in: fixture)
    #expect(try await trail(fixture).map(\.event) == ["application made"])
  }

  private func store(_ change: @escaping Change, in fixture: Fixture) async throws {
    try await fixture.service.storage.write { [id = fixture.application.id] db in
      var settings = try ApplicationSettings.of(id, in: db)
      change(&settings)
      try settings.store(for: id, in: db)
    }
  }

  @Test func anApplicationsDisablingIsListed() async throws {
    let fixture = try await Fixture()
    for isDisabled in [true, false] {
      _ = try await fixture.service.storage.write { [id = fixture.application.id, now = fixture.clock.now] in
        try ApplicationSettings.setDisabled(isDisabled, id, at: now, in: $0)
      }
    }
    #expect(try await trail(fixture).suffix(2).map { $0["reason"] } == ["disabled", "enabled"])
  }

  @Test func noTokenOrSecretIsInIt() async throws {
    let fixture = try await Fixture()
    let token = "token-of-alice-0123456789"
    _ = try await TestPhone.registered(in: fixture, user: token)
    let session = try await fixture.started(token)
    let text = try await trail(fixture).map(\.jsonLine).joined()
    #expect(text.contains("Alice"))
    for secret in [token, session.token.exposedValue, session.secret.exposedValue] { #expect(!text.contains(secret)) }
  }

  @Test func entriesAreForgottenAfterFourHundredDays() async throws {
    let (fixture, _) = try await office()
    _ = try await fixture.started("alice")
    fixture.clock.advance(seconds: AuditEntry.lifetime - 61)
    try await fixture.service.tidy()
    #expect(try await events(fixture).contains("asked"))
    fixture.clock.advance(seconds: 62)
    try await fixture.service.tidy()
    #expect(!(try await events(fixture).contains("asked")))
  }

  @Test func anOperatorMayKeepThemForAnotherTime() async throws {
    let (fixture, _) = try await office()
    _ = try await fixture.started("alice")
    let times = KeptTimes(answers: 400, audit: 7)
    fixture.clock.advance(seconds: 7 * 86_400 - 61)
    try await fixture.service.tidy(keeping: times)
    #expect(try await events(fixture).contains("asked"))
    fixture.clock.advance(seconds: 62)
    try await fixture.service.tidy(keeping: KeptTimes(answers: 62, audit: 400))
    #expect(try await events(fixture).contains("asked"))
    try await fixture.service.tidy(keeping: times)
    #expect(!(try await events(fixture).contains("asked")))
  }

  @Test func signedAnswersAreKeptByATimeOfTheirOwn() {
    let now = UnixTime(seconds: 1_800_000_000)
    let times = KeptTimes(answers: 62, audit: 3_650)
    for kind in Forgettable.allCases {
      let days: Int64 =
        switch kind {
        case .answers, .cutOffPhones, .revokedCredentials, .joinings: 400 - 62
        case .auditEntries: 400 - 3_650
        default: 0
        }
      #expect(times.date(for: kind, at: now) == now.advanced(seconds: days * 86_400), "\(kind)")
      #expect(KeptTimes.usual.date(for: kind, at: now) == now)
    }
  }
}
