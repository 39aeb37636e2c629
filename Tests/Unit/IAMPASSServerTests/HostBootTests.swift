import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct HostBootTests {
  /// A service with alice's phone, and a laptop's own credential.
  private struct BootFixture {
    let fixture: Fixture
    let phone: TestPhone
    let credential: HostCredential

    init() async throws {
      fixture = try await Fixture()
      phone = try await TestPhone.registered(in: fixture)
      credential = try await fixture.service.storage.createHostCredential(
        named: "laptop 7", host: "laptop-7", of: "shop", at: fixture.clock.now)
    }

    /// A session that alice has approved.
    ///
    /// - Parameters:
    /// - boot: nil as from an older module, which does not send it.
    /// - isSigned: whether the signed address has the body's digest.
    func signedIn(
      boot: String?, by credential: HostCredential? = nil, isSigned: Bool = true, service: String = "sshd"
    ) async throws -> StartedSession {
      let session = try await started(boot: boot, by: credential, isSigned: isSigned, service: service)
      try await phone.approveOnly()
      #expect(try await fixture.status(of: session).status == .active)
      return session
    }

    func started(
      boot: String?, by credential: HostCredential? = nil, isSigned: Bool = true, service: String = "sshd"
    ) async throws -> StartedSession {
      let reply = await fixture.respond(
        try startRequest(boot: boot, by: credential, isSigned: isSigned, service: service))
      guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
      return session
    }

    func startRequest(
      boot: String?, by credential: HostCredential? = nil, isSigned: Bool = true, service: String
    ) throws -> ServiceRequest {
      let credential = credential ?? self.credential
      let body = StartRequest(context: SignInContext(service: service), bootID: boot).encoded()
      let digest = isSigned ? "?body_sha256=" + BodyDigest.value(of: body) : ""
      return try fixture.signed(
        "POST", "/authentication/authenticate_user/\(credential.id)/alice" + digest, body, by: credential)
    }

    func ending(of session: StartedSession) async throws -> String? {
      let reply = try await fixture.status(of: session)
      return reply.status == .active ? nil : reply.reason
    }
  }

  @Test func aStartFromTheNextBootEndsWhatTheBootBeforeOpened() async throws {
    let office = try await BootFixture()
    let first = try await office.signedIn(boot: "b1")
    let second = try await office.signedIn(boot: "b1", service: "login")
    #expect(try await office.ending(of: first) == nil)
    let next = try await office.signedIn(boot: "b2")
    #expect(try await office.ending(of: first) == "COMPUTER_RESTARTED")
    #expect(try await office.ending(of: second) == "COMPUTER_RESTARTED")
    #expect(try await office.ending(of: next) == nil)
  }

  @Test func aRequestThatWasOpenWhenTheComputerWentDownIsInNobodysWay() async throws {
    let office = try await BootFixture()
    let open = try await office.started(boot: "b1")
    _ = try await office.started(boot: "b2")
    #expect(try await office.ending(of: open) == "COMPUTER_RESTARTED")
  }

  @Test func otherComputersSessionsGoOn() async throws {
    let office = try await BootFixture()
    let other = try await office.fixture.service.storage.createHostCredential(
      named: "laptop 8", host: "laptop-8", of: "shop", at: office.fixture.clock.now)
    let elsewhere = try await office.signedIn(boot: "c1", by: other)
    _ = try await office.signedIn(boot: "b1")
    _ = try await office.signedIn(boot: "b2")
    #expect(try await office.ending(of: elsewhere) == nil)
  }

  @Test func sessionsThatNameNoBootGoOn() async throws {
    let office = try await BootFixture()
    let older = try await office.signedIn(boot: nil)
    let first = try await office.signedIn(boot: "b1", service: "login")
    _ = try await office.signedIn(boot: nil, service: "su")
    #expect(try await office.ending(of: older) == nil)
    #expect(try await office.ending(of: first) == nil)
  }

  @Test func aBootThatIsNotSignedEndsNothing() async throws {
    let office = try await BootFixture()
    let first = try await office.signedIn(boot: "b1")
    _ = try await office.signedIn(boot: "b2", isSigned: false, service: "login")
    #expect(try await office.ending(of: first) == nil)
  }

  @Test func aStartThatWasWithheldUntilTheNextBootEndsNothing() async throws {
    let office = try await BootFixture()
    let withheld = try office.startRequest(boot: "b1", service: "su")
    office.fixture.clock.advance(seconds: 60)
    let live = try await office.signedIn(boot: "b2")
    #expect(await office.fixture.respond(withheld).status == 202)
    #expect(try await office.ending(of: live) == nil)
    office.fixture.clock.advance(seconds: 60)
    // Nor does the boot of that start become the current one.
    _ = try await office.signedIn(boot: "b2", service: "login")
    #expect(try await office.ending(of: live) == nil)
    office.fixture.clock.advance(seconds: 60)
    _ = try await office.signedIn(boot: "b3", service: "login")
    #expect(try await office.ending(of: live) == "COMPUTER_RESTARTED")
  }

  /// Two computers share a credential, or someone delayed a request.
  @Test func aBootThatComesBackEndsNothing() async throws {
    let office = try await BootFixture()
    _ = try await office.signedIn(boot: "b1")
    let second = try await office.signedIn(boot: "b2", service: "login")
    _ = try await office.signedIn(boot: "b1", service: "su")
    #expect(try await office.ending(of: second) == nil)
  }

  /// Several computers may share it, and each ends its own sessions.
  @Test func theApplicationsOwnCredentialEndsNothing() async throws {
    let office = try await BootFixture()
    let fixture = office.fixture
    var sessions: [StartedSession] = []
    for boot in ["b1", "b2"] {
      let body = StartRequest(context: SignInContext(host: "web", service: boot), bootID: boot).encoded()
      let target = "/authentication/authenticate_user/\(fixture.application.id)/alice?body_sha256="
      let reply = await fixture.respond(try fixture.signed("POST", target + BodyDigest.value(of: body), body))
      guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
      try await office.phone.approveOnly()
      #expect(try await fixture.status(of: session).status == .active)
      sessions.append(session)
    }
    #expect(try await office.ending(of: sessions[0]) == nil)
  }
}
