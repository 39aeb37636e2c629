import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct HostCredentialTests {
  /// A service with alice's phone, and a laptop's own credential.
  private func office() async throws -> (Fixture, TestPhone, HostCredential) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let credential = try await fixture.service.storage.createHostCredential(
      named: "laptop 7", host: "laptop-7", of: "shop", at: fixture.clock.now)
    return (fixture, phone, credential)
  }

  private func start(
    _ fixture: Fixture, _ credential: HostCredential, context: SignInContext = SignInContext(host: "web-1")
  ) async throws -> ServiceReply {
    await fixture.respond(try fixture.startRequest("alice", context: context, by: credential))
  }

  private func started(_ fixture: Fixture, _ credential: HostCredential) async throws -> StartedSession {
    guard case .started(let session) = try StartReply(parsing: try await start(fixture, credential).body) else {
      throw Fixture.NotStarted()
    }
    return session
  }

  @Test func theServiceAnnouncesThem() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: "/.well-known/iampass", authority: Fixture.authority))
    #expect(try ServiceAnnouncement(parsing: reply.body).hostCredentials)
  }

  @Test func signsInAndIsApproved() async throws {
    let (fixture, phone, credential) = try await office()
    let session = try await started(fixture, credential)
    try await phone.approveOnly()
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func thePhoneIsToldTheCredentialsHost() async throws {
    let (fixture, phone, credential) = try await office()
    let context = SignInContext(host: "vault", service: "sshd")
    _ = try await start(fixture, credential, context: context)
    #expect(try await phone.list().map(\.context) == [SignInContext(host: "laptop-7", service: "sshd")])
  }

  /// A source may have one unanswered request. Another host name does not make another source.
  @Test func anotherHostsNameIsTheSameSource() async throws {
    let (fixture, _, credential) = try await office()
    _ = try await started(fixture, credential)
    let reply = try await start(fixture, credential, context: SignInContext(host: "web-2"))
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "REQUEST_PENDING"))
  }

  @Test(arguments: [
    ("POST", "add_users/ID"), ("POST", "delete_users/ID"), ("GET", "device_registration_link/ID/alice"),
    ("GET", "has_registered_mobile_device/ID/alice"), ("GET", "lost_user_mobile_device/ID/alice"),
    ("POST", "send_registration_sms/ID/alice"),
  ])
  func mayNotManage(_ method: String, _ path: String) async throws {
    let (fixture, _, credential) = try await office()
    for id in [credential.id, fixture.application.id] {
      let target = "/management/" + path.replacing("ID", with: id)
      let request = try fixture.signed(method, target, UsersRequest(users: ["mallory"]).encoded(), by: credential)
      let reply = await fixture.respond(request)
      #expect([401, 403].contains(reply.status))
    }
    let users = try await fixture.service.storage.read { try String.fetchAll($0, sql: "SELECT name FROM user") }
    #expect(users == ["alice"])
    #expect(try await fixture.start("alice") != .notStarted(reason: "NO_MOBILE_DEVICE"))
  }

  /// iampassctl distinguishes a host's credential from a wrong one by this.
  @Test func theRefusalToManageIsSignedAndHasItsReason() async throws {
    let (fixture, _, credential) = try await office()
    let request = try fixture.signed(
      "GET", "/management/has_registered_mobile_device/\(credential.id)/alice", by: credential)
    let reply = await fixture.respond(request)
    #expect(reply.status == 403)
    #expect(reply.reason == "HOST_MAY_NOT_MANAGE")
    #expect(try reply.isSigned(for: request, by: credential.secret))
  }

  @Test func itsSecretSignsTheRepliesOfItsSessions() async throws {
    let (fixture, _, credential) = try await office()
    let session = try await started(fixture, credential)
    let request = try fixture.signed("GET", session.statusURL, by: session)
    let reply = await fixture.respond(request)
    #expect(try reply.isSigned(for: request, by: credential.secret))
  }

  @Test func itsOwnStartIsAnsweredWithItsSecret() async throws {
    let (fixture, _, credential) = try await office()
    let request = try fixture.startRequest("alice", context: SignInContext(), by: credential)
    let reply = await fixture.respond(request)
    #expect(try reply.isSigned(for: request, by: credential.secret))
  }

  @Test func aWrongSecretIsRefused() async throws {
    let (fixture, _, credential) = try await office()
    let stranger = HostCredential(
      id: credential.id, application: credential.application, name: "", host: "", secret: fixture.application.secret,
      createdAt: fixture.clock.now, lastUsedAt: nil, revokedAt: nil)
    let reply = try await start(fixture, stranger)
    #expect(reply.status == 401)
    #expect(reply.reason == "SIGNATURE_REFUSED")
  }

  @Test func aRevokedCredentialIsRefused() async throws {
    let (fixture, _, credential) = try await office()
    try await fixture.service.storage.revokeHostCredential(named: "laptop 7", of: "shop", at: fixture.clock.now)
    let reply = try await start(fixture, credential)
    #expect(reply.status == 401)
    #expect(reply.reason == "CREDENTIAL_REVOKED")
  }

  @Test func revokingClosesWhatNobodyAnswered() async throws {
    let (fixture, phone, credential) = try await office()
    let session = try await started(fixture, credential)
    try await fixture.service.storage.revokeHostCredential(named: "laptop 7", of: "shop", at: fixture.clock.now)
    #expect(try await phone.list() == [])
    #expect(try await fixture.status(of: session).reason == "CREDENTIAL_REVOKED")
  }

  @Test func revokingLeavesApprovedSessionsToTheirUsers() async throws {
    let (fixture, phone, credential) = try await office()
    let session = try await started(fixture, credential)
    try await phone.approveOnly()
    try await fixture.service.storage.revokeHostCredential(named: "laptop 7", of: "shop", at: fixture.clock.now)
    #expect(try await fixture.status(of: session).status == .active)
    #expect(try await fixture.logOut(session).status == 200)
  }

  @Test func theLastUseIsKeptToTheMinute() async throws {
    let (fixture, _, credential) = try await office()
    func lastUse() async throws -> UnixTime? {
      try await fixture.service.storage.hostCredentials(of: "shop")[0].lastUsedAt
    }
    #expect(try await lastUse() == nil)
    let first = fixture.clock.now
    _ = try await start(fixture, credential)
    fixture.clock.advance(seconds: 59)
    _ = try await start(fixture, credential)
    #expect(try await lastUse() == first)
    fixture.clock.advance(seconds: 1)
    _ = try await start(fixture, credential)
    #expect(try await lastUse() == first.advanced(seconds: 60))
  }

  @Test func aNameIsTakenUntilItIsRevoked() async throws {
    let (fixture, _, _) = try await office()
    let storage = fixture.service.storage
    func again() async throws {
      _ = try await storage.createHostCredential(named: "laptop 7", host: "x", of: "shop", at: fixture.clock.now)
    }
    await #expect(throws: HostCredentialRefusal.nameTaken) { try await again() }
    try await storage.revokeHostCredential(named: "laptop 7", of: fixture.application.id, at: fixture.clock.now)
    try await again()
  }

  @Test func whatIsNotThereIsRefused() async throws {
    let (fixture, _, _) = try await office()
    let storage = fixture.service.storage
    let now = fixture.clock.now
    await #expect(throws: HostCredentialRefusal.unknownApplication) {
      try await storage.createHostCredential(named: "a", host: "a", of: "nobody", at: now)
    }
    await #expect(throws: HostCredentialRefusal.hostNotFit) {
      try await storage.createHostCredential(named: "a", host: "a\u{202E}b", of: "shop", at: now)
    }
    await #expect(throws: HostCredentialRefusal.unknownCredential) {
      try await storage.revokeHostCredential(named: "a", of: "shop", at: now)
    }
  }
}
