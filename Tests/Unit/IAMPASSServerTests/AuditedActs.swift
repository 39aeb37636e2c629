import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// As `ServerCommand` runs each command.
private func command<Value>(_ work: () async throws -> Value) async throws -> Value {
  try await AuditActor.$current.withValue(.command(user: 0, login: nil)) { try await work() }
}

/// Acts that the audit notes, each in a service of its own, which a command has made.
enum AuditedActs {
  private struct Stage {
    let fixture: Fixture
    var storage: SQLiteStorage { fixture.service.storage }
    var now: UnixTime { fixture.clock.now }

    init() async throws { fixture = try await command { try await Fixture() } }

    func entries() async throws -> [AuditEntry] { try await storage.auditEntries(after: 0, limit: 1_000) }

    func computer() async throws -> HostCredential {
      try await command { try await storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: now) }
    }
  }

  static func signIn() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let fixture = stage.fixture
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    try await phone.approveOnly()
    _ = try await fixture.status(of: session)
    try await phone.change(.leave)
    try await phone.change(.return)
    _ = try await fixture.logOut(session)
    _ = try await phone.unregister()
    let target = "/management/delete_users/\(fixture.application.id)"
    let deletion = try fixture.signed("POST", target, UsersRequest(users: ["alice"]).encoded())
    #expect(await fixture.respond(deletion).status == 200)
    return try await stage.entries()
  }

  static func denial() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let phone = try await TestPhone.registered(in: stage.fixture)
    _ = try await stage.fixture.started("alice")
    try await phone.answer(.notMe, to: try #require(try await phone.list().first))
    _ = try await command { try await stage.storage.liftBlocks(of: "alice", of: "shop", at: stage.now) }
    return try await stage.entries()
  }

  static func console() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let visitor = try await command { try await ConsoleVisitor.admitted(to: stage.fixture) }
    let path = "/application/\(stage.fixture.application.id)"
    _ = await visitor.post("/applications", ["name": "office"])
    let settings = [
      "walkaway": "on", "match_code": "on", "answer_time": "20", "greatest_duration": "3600", "hook": "",
    ]
    _ = await visitor.post(path + "/settings", settings)
    _ = await visitor.post(path + "/secret", [:])
    let made = await visitor.post(path + "/credentials", ["name": "laptop", "host": "laptop-7"]).text
    let id = try #require(made.firstMatch(of: /application_id = ([0-9a-f]{32})/)).1
    _ = await visitor.post(path + "/credential/\(id)/rename", ["name": "desk"])
    _ = await visitor.post(path + "/credential/\(id)/revoke", [:])
    _ = await visitor.post(path + "/users", ["name": "bob", "groups": ""])
    _ = await visitor.get("/audit.jsonl")
    _ = await visitor.post("/leave", [:])
    return try await stage.entries()
  }

  static func commands() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let (storage, now) = (stage.storage, stage.now)
    try await command {
      try await storage.setNotifications(NotificationSettingsTests.apple(), of: "shop", at: now)
      _ = try await storage.removeNotifications(.apple, of: "shop")
      let made = try await storage.createApplication(named: "lab", matchCodes: .off, at: now)
      try await storage.takeBack(made, at: now)
      _ = try await storage.publishedKeys(at: now)
      _ = try await storage.rotatedKeys(at: now, isUrgent: true)
      try await storage.noteBackup()
      _ = try await storage.addAdministrator("bo", role: .helpdesk, at: now)
      _ = try await storage.setAdministrator("bo", role: .auditor, keepsOne: false, at: now)
      _ = try await storage.removeAdministrator("bo", keepsOne: false, at: now)
    }
    return try await stage.entries()
  }

  static func faces() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let phone = try await TestPhone.registered(in: stage.fixture)
    try await command {
      try await stage.storage.set(SettingsChange(appsVouchForFaces: true), ofApplicationNamed: "shop")
    }
    _ = try await phone.send(DeviceRoute.face, phone.ask(.face).json)
    _ = try await stage.fixture.started("alice", query: "?methods=facial")
    try await phone.answer(.approve, to: try #require(try await phone.list().first))
    _ = try await phone.send(DeviceRoute.face, phone.ask(.noFace).json)
    return try await stage.entries()
  }

  static func screenLock() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let phone = try await TestPhone.registered(in: stage.fixture)
    let (first, second) = (try TestAuthenticator(), try TestAuthenticator(id: [9]))
    for (added, former) in [(first, nil), (second, first)] as [(TestAuthenticator, TestAuthenticator?)] {
      let ask = try phone.ask(.credential)
      let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
      let statement = CredentialStatement(ask: ask, credential: try added.credential(challenge: challenge)).json
      let assertion = try former?.assertion(challenge: CredentialChallenge.bytes(for: statement))
      let body = try UnverifiedStatement.body(signing: statement, with: phone.key, assertion: assertion)
      #expect(await stage.fixture.respond(TestPhone.request(DeviceRoute.credential, body)).status == 200)
    }
    return try await stage.entries()
  }

  static func joins() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let order = JoinOrder(application: "shop", secret: Secret("code"), uses: 9, days: 1, isUnattended: false)
    let code = try await command { try await stage.storage.createJoinCode(order, at: stage.now) }
    for (name, byte) in [("desk-7", 7), ("desk-8", 8)] as [(String, UInt8)] {
      let secret = Secret(Base64.encode(Array(repeating: byte, count: 24)))
      let body = JoinRequest(code: Secret("code"), name: name, secret: secret).encoded()
      let ask = ServiceRequest(
        method: "POST", target: "/join", authority: Fixture.authority, body: body, peer: "192.0.2.7")
      #expect(await stage.fixture.respond(ask).status == 202)
      _ = try await command {
        try await stage.storage.decideJoin(name, isApproved: name == "desk-7", at: stage.now)
      }
    }
    _ = try await command { try await stage.storage.revokeJoinCode(code.id, at: stage.now) }
    return try await stage.entries()
  }

  static func codes() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let phone = try await TestPhone.registered(in: stage.fixture)
    let desk = try await stage.computer()
    let context = SignInContext(host: "desk", service: "sudo", user: "alice")
    for use in [
      CodeUseReport(
        id: "set.1", way: .recovery, usedAt: 1_700_000_000, left: 9, context: context, isOpen: true),
      CodeUseReport(id: "challenge", way: .phone, usedAt: 1_700_000_000, left: nil, context: context),
    ] {
      let body = use.encoded()
      let digest = BodyDigest.item(for: body)
      let target = "/authentication/code_use/\(desk.id)/alice?\(digest.0)=\(digest.1)"
      let reply = await stage.fixture.respond(try stage.fixture.signed("POST", target, body, by: desk))
      #expect(reply.status == 200)
    }
    #expect(try await phone.end(["set.1"]).status == 200)
    return try await stage.entries()
  }

  /// Computers that verify approvals ask a locum.
  static func locums() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let fixture = stage.fixture
    _ = try await TestPhone.registered(in: fixture)
    let carol = try await TestPhone.registered(in: fixture, user: "carol")
    let order = LocumOrder(application: "shop", user: "alice", administrator: "carol")
    for (host, answer) in [("web-1", .approve), ("web-2", .deny)] as [(String, DeviceAnswer)] {
      _ = try await command { try await stage.storage.allowLocum(order, at: stage.now) }
      let start = StartRequest(context: SignInContext(host: host), challenge: ApprovalChallenge.draw())
      let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
      _ = await fixture.respond(try fixture.signed("POST", target, start.encoded()))
      let request = try #require(try await carol.list().first)
      #expect(try await carol.answer(answer, to: request).status == 200)
    }
    return try await stage.entries()
  }

  static func copiedComputer() async throws -> [AuditEntry] {
    let stage = try await Stage()
    let desk = try await stage.computer()
    for digit in ["0", "f", "0"] {
      let mark = String(repeating: digit, count: 32)
      let target = "/authentication/user_list/\(desk.id)?version=0&mark=\(mark)"
      _ = await stage.fixture.respond(try stage.fixture.signed("GET", target, by: desk))
      stage.fixture.clock.advance(seconds: 1)
    }
    _ = try await command { try await stage.storage.settleComputer(named: "desk", of: "shop", at: stage.now) }
    return try await stage.entries()
  }

  static func signedLists() async throws -> [AuditEntry] {
    let office = try await command { try await SigningFixture() }
    try await command { try await office.list("bob") }
    // The service looks for orders by itself.
    let outcome = try await AuditActor.$current.withValue(.service) { try await office.sign() }
    #expect(outcome == .signed)
    return try await office.storage.auditEntries(after: 0, limit: 1_000)
  }

  static func seals() async throws -> [AuditEntry] {
    let room = try await command { try await StorageFixture(.sqlite) }
    let (keys, others) = (try SealKeyTests.newKeys(), try SealKeyTests.newKeys())
    func opened(_ keys: SealKeys) throws -> any OperatorStore {
      var operators = try #require(room.opened() as? any OperatorStore)
      operators.sealKeys = keys
      return operators
    }
    try await command {
      _ = try await opened(keys).sealSecrets(at: room.now)
      _ = try await opened(keys).unsealSecrets(at: room.now)
      _ = try await opened(keys).sealSecrets(at: room.now)
      _ = try await opened(others).giveUpLostKey(at: room.now)
    }
    return try await room.storage.auditEntries(after: 0, limit: 1_000)
  }

  /// Entries of the last release, which the database has too, do not say who did it.
  static func move() async throws -> [AuditEntry] {
    let room = try await MoveFixture()
    _ = try await command { try await DatabaseMove.run(from: room.folder, to: room.url) }
    let entries = try await PostgreSQLStorage(url: room.url).auditEntries(after: 0, limit: 10_000)
    return entries.filter { $0.event == NotedEvent.databaseMoved.rawValue }
  }
}
