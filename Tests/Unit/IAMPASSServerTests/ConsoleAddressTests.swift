import IAMPASSProtocol
import NIOHTTP1
import Synchronization
import Testing

@testable import IAMPASSServer

/// A console that has a listener and an address of its own: what it says to phones names the service's address.
@Suite struct ConsoleAddressTests {
  /// The service's address. The console's is that of the fixture.
  private static let service = "https://phones.test:8443"

  /// Takes each message, and keeps who the push service is to ask about it.
  private final class ToldContacts: PushPosting {
    private let contacts = Mutex<[String]>([])

    func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> PushReply {
      let token = try #require(headers["Authorization"].first?.split(separator: "."))
      let claims = try JSON(parsing: try #require(Base64URL.decode(String(token[1]))))
      let contact = try #require(claims["sub"]?.string)
      contacts.withLock { $0.append(contact) }
      return PushReply(status: 201)
    }

    /// Those of all messages, once there is one.
    func all() async throws -> [String] {
      for _ in 0..<6_000 where contacts.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(10)) }
      return contacts.withLock { $0 }
    }
  }

  /// Sends a form to a service on the fixture's storage that rings by `pushes`.
  private func post(
    _ path: String, _ body: String, cookie: String? = nil, to fixture: Fixture, ringing pushes: any PushPosting
  ) async throws -> ServiceReply {
    let core = fixture.service.core
    let sender = PushSender(storage: core.storage, trust: PushTrust(), logger: core.logger, client: pushes)
    let sessions = SessionReplies(core: core, longestWait: 0, pushes: sender)
    let router = Router(
      core: core, publicURL: try ServerURL(Self.service), proxies: TrustedProxies(),
      management: ManagementReplies(core: core, programs: fixture.folder), sessions: sessions,
      devices: DeviceReplies(core: core, sessions: sessions, pushTrust: PushTrust()), certificateEnd: { nil },
      joinCodes: .none)
    var headers = [(name: "Origin", value: Fixture.origin)]
    if let cookie { headers.append((name: "Cookie", value: cookie)) }
    var request = ServiceRequest(
      method: "POST", target: "/console" + path, authority: Fixture.authority, headers: headers, body: Array(body.utf8))
    request.listener = .console(url: try ServerURL(Fixture.origin))
    return await router.respond(to: request)
  }

  @Test func eachLinkForAPhoneLeadsToTheService() async throws {
    let fixture = try await Fixture(publicURL: Self.service)
    let visitor = try await ConsoleVisitor.admitted(to: fixture, by: .console(url: try ServerURL(Fixture.origin)))
    let path = "/application/\(fixture.application.id)"
    let forms: [(path: String, fields: [String: String])] = [
      (path + "/users", ["name": "dora", "groups": ""]), (path + "/user/1/link", ["display_name": "Dora"]),
      (path + "/user/1/lost", [:]), ("/administrators", ["name": "ada", "role": "admin"]),
      ("/administrators/ada/link", [:]), ("/administrators/ada/lost", [:]),
    ]
    for form in forms {
      let page = await visitor.post(form.path, form.fields).text
      let link = try #require(page.firstMatch(of: /<pre id="link">([^<]*)<\/pre>/), "\(form.path)").1
      #expect(link.hasPrefix(Self.service + "/register/"), "\(form.path)")
    }
  }

  @Test func aSignInNamesTheServiceToThePushService() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    #expect(try await phone.subscribe(PushTests.subscription).status == 200)
    let pushes = ToldContacts()
    #expect(try await post("/sign-in", "name=ada", to: fixture, ringing: pushes).status == 303)
    #expect(try await pushes.all() == [Self.service])
    #expect(try await phone.list().count == 1)
  }

  @Test func aSignatureThatIsAskedForNamesTheServiceToThePushService() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let visitor = try await ConsoleVisitor.signedIn(to: office.fixture, as: .admin, by: office.phone).0
    #expect(try await office.phone.subscribe(PushTests.subscription).status == 200)
    let pushes = ToldContacts()
    let token = try #require(visitor.token)
    let reply = try await post(
      "/application/\(office.application)/sign", "token=\(token)", cookie: visitor.cookie, to: office.fixture,
      ringing: pushes)
    #expect(reply.status == 303)
    #expect(try await pushes.all() == [Self.service])
    #expect(try await office.phone.list().count == 1)
  }
}
