import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The credential of a program that speaks OpenID Connect, and bad input from such programs.
@Suite struct OpenIDClientTests {
  @Test func aClientSignsNobodyInOnTheOrdinaryRoutes() async throws {
    let office = try await BackchannelFixture()
    let fixture = office.fixture
    // The secret of a client does not fit into a signature. This one does.
    let credential = try await fixture.service.storage.createHostCredential(
      named: "laptop", host: "laptop-7", of: "shop", at: fixture.clock.now)
    func statuses() async throws -> [Int] {
      let start = try fixture.startRequest("alice", context: SignInContext(host: "laptop-7"), by: credential)
      let mark = try fixture.signed("GET", "/authentication/service_mark/\(credential.id)", by: credential)
      return [await fixture.respond(mark).status, await fixture.respond(start).status]
    }
    try await fixture.service.storage.write { db in
      try db.execute(sql: "UPDATE host_credential SET is_openid = 1 WHERE id = ?", arguments: [credential.id])
    }
    #expect(try await statuses() == [404, 404])
    #expect(try await office.phone.list().isEmpty)
    try await fixture.service.storage.write { db in
      try db.execute(sql: "UPDATE host_credential SET is_openid = 0 WHERE id = ?", arguments: [credential.id])
    }
    #expect(try await statuses() == [200, 202])
  }

  @Test func credentialsOfHostsAndApplicationsAreRefused() async throws {
    let office = try await BackchannelFixture()
    let host = try await office.fixture.service.storage.createHostCredential(
      named: "laptop", host: "laptop-7", of: "shop", at: office.fixture.clock.now)
    let application = office.fixture.application
    let fields = ["scope": "openid", "login_hint": "alice"]
    for (id, secret) in [(host.id, host.secret), (application.id, application.secret)] {
      let reply = await office.send(
        "/bc-authorize",
        BackchannelFixture.form(
          fields.merging(["client_id": id, "client_secret": secret.exposedValue]) { $1 }), headers: [])
      #expect(reply.status == 401)
      #expect(reply.openIDError == "invalid_client")
    }
    #expect(try await office.phone.list().isEmpty)
  }

  @Test func theSecretMayStandInTheForm() async throws {
    let office = try await BackchannelFixture()
    let fields = [
      "scope": "openid", "login_hint": "alice", "client_id": office.client.id,
      "client_secret": office.secret.exposedValue,
    ]
    #expect(await office.send("/bc-authorize", BackchannelFixture.form(fields), headers: []).status == 200)
  }

  @Test func theSecretIsNotStored() async throws {
    let office = try await BackchannelFixture()
    #expect(office.client.secret != office.secret)
    #expect(office.client.secret == OpenIDSecret.stored(office.secret))
  }

  @Test func anotherClientsRequestIsUnknown() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.phone.approveOnly()
    #expect(try await office.poll(name, by: try await office.other()).openIDError == "invalid_grant")
    for wrong in [String(name.prefix { $0 != "." }), name + "A", name.uppercased(), ".", "no"] {
      #expect(try await office.poll(wrong).openIDError == "invalid_grant", "\(wrong)")
    }
    #expect(try await office.poll(name).status == 200)
  }

  @Test func aRevokedClientIsRefusedAndItsRequestsAreClosed() async throws {
    let office = try await BackchannelFixture()
    let name = try await office.started()
    try await office.fixture.service.storage.revokeHostCredential(
      named: "bank", of: "shop", isOpenID: true, at: office.fixture.clock.now)
    #expect(try await office.phone.list().isEmpty)
    #expect(try await office.poll(name).openIDError == "invalid_client")
    #expect(try await office.ask().status == 401)
  }

  @Test func eachCommandManagesItsOwnKindAlone() async throws {
    let office = try await BackchannelFixture()
    let storage = office.fixture.service.storage
    #expect(try await storage.hostCredentials(of: "shop").isEmpty)
    #expect(try await storage.hostCredentials(of: "shop", areOpenID: true).map(\.name) == ["bank"])
    await #expect(throws: HostCredentialRefusal.unknownCredential) {
      try await storage.revokeHostCredential(named: "bank", of: "shop", at: office.fixture.clock.now)
    }
  }

  @Test func theLastUseIsKept() async throws {
    let office = try await BackchannelFixture()
    _ = try await office.started()
    let clients = try await office.fixture.service.storage.hostCredentials(of: "shop", areOpenID: true)
    #expect(clients.first?.lastUsedAt != nil)
  }

  @Test func manyWrongSecretsAreToldToWait() async throws {
    let office = try await BackchannelFixture()
    let wrong = (office.client.id, Secret("wrong"))
    let fields = ["scope": "openid", "login_hint": "alice"]
    for _ in 0..<30 { #expect(try await office.post("/bc-authorize", fields, by: wrong).status == 401) }
    #expect(try await office.post("/bc-authorize", fields, by: wrong).status == 429)
    #expect(try await office.ask().status == 200)
  }

  @Test func aDisabledApplicationsClientsAreRefused() async throws {
    let office = try await BackchannelFixture()
    _ = try await office.fixture.service.storage.setDisabled(
      true, of: office.fixture.application.id, at: office.fixture.clock.now)
    #expect(try await office.ask().openIDError == "unauthorized_client")
  }

  @Test(
    arguments: [
      (["scope": "profile"], "invalid_scope"), (["scope": ""], "invalid_scope"),
      (["login_hint": ""], "invalid_request"), (["login_hint": "nobody"], "unknown_user_id"),
      (["login_hint": "a\u{0}b"], "unknown_user_id"), (["login_hint_token": "x"], "invalid_request"),
      (["id_token_hint": "x"], "invalid_request"), (["request": "x"], "invalid_request"),
      (["requested_expiry": "0"], "invalid_request"), (["requested_expiry": "-1"], "invalid_request"),
      (["requested_expiry": "+9"], "invalid_request"), (["requested_expiry": "soon"], "invalid_request"),
      (["requested_expiry": "99999999999999999999"], "invalid_request"), (["match_code": "2"], "invalid_request"),
      (["binding_message": "a\u{202E}b"], "invalid_binding_message"),
      (["binding_message": "a\nb"], "invalid_binding_message"),
      (["binding_message": String(repeating: "m", count: 201)], "invalid_binding_message"),
    ] as [([String: String], String)])
  func badQuestionsAreRefused(_ fields: [String: String], _ code: String) async throws {
    let office = try await BackchannelFixture()
    #expect(try await office.ask(fields).openIDError == code)
    #expect(try await office.phone.list().isEmpty)
  }

  @Test(arguments: [
    "scope=openid&scope=openid&login_hint=alice", "scope=openid&login_hint=alice&login_hint=bob", "scope=%",
    "scope=openid&login_hint=alice&unread=1&unread=2",
    "scope=openid&login_hint=%FF",
  ])
  func badFormsAreRefused(_ body: String) async throws {
    let office = try await BackchannelFixture()
    let basic = Base64.encode(Array("\(office.client.id):\(office.secret.exposedValue)".utf8))
    let reply = await office.send("/bc-authorize", body, headers: [("Authorization", "Basic " + basic)])
    #expect(reply.openIDError == "invalid_request")
  }

  @Test(arguments: ["Basic", "Basic !", "Bearer x", "Basic bm9jb2xvbg=="])
  func badAuthorizationIsRefused(_ header: String) async throws {
    let office = try await BackchannelFixture()
    let reply = await office.send("/token", "grant_type=x", headers: [("Authorization", header)])
    #expect(reply.openIDError == "invalid_request")
  }

  @Test func aClientProvesItselfInOneWay() async throws {
    let office = try await BackchannelFixture()
    let reply = try await office.ask(["client_secret": office.secret.exposedValue])
    #expect(reply.openIDError == "invalid_request")
  }

  @Test(
    arguments: [
      (["grant_type": "authorization_code"], "unsupported_grant_type"), ([:], "invalid_request"),
      (["grant_type": BackchannelFixture.grant], "invalid_request"),
    ] as [([String: String], String)])
  func badQuestionsForATokenAreRefused(_ fields: [String: String], _ code: String) async throws {
    let office = try await BackchannelFixture()
    #expect(try await office.post("/token", fields).openIDError == code)
  }
}
