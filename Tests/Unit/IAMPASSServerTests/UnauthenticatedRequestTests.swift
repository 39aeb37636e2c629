import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A service whose looks at its storage are counted.
struct WatchedService {
  let fixture: Fixture
  private let storage: LosingStorage

  init(engine: StorageEngine = .sqlite) async throws {
    var watched: LosingStorage?
    fixture = try await Fixture(engine: engine) { storage in
      let counting = LosingStorage(storage, losing: -1, .before)
      watched = counting
      return counting
    }
    storage = try #require(watched)
  }

  /// How often the storage was asked for anything.
  var looks: Int { storage.calls }

  /// The reply, and how often the storage was asked for it.
  func reply(to request: ServiceRequest) async -> (reply: ServiceReply, looks: Int) {
    let before = looks
    let reply = await fixture.respond(request)
    return (reply, looks - before)
  }
}

/// Whatever strangers can see to be wrong is refused before the storage hears of it.
struct UnauthenticatedRequestTests {
  private static let unknown = "0123456789abcdef0123456789abcdef"

  /// With `ID` for the id that signs.
  private static let signedRoutes: [(method: String, path: String)] = [
    ("GET", "/management/has_registered_mobile_device/ID/alice"), ("POST", "/management/add_users/ID"),
    ("POST", "/authentication/authenticate_user/ID/alice"), ("GET", "/authentication/service_mark/ID"),
    ("GET", "/authentication/user_list/ID"), ("GET", "/authentication/session_status/ID"),
    ("POST", "/authentication/session_logout/ID"),
  ]

  private func refuse(
    _ request: ServiceRequest, _ reason: String, in watched: WatchedService, _ why: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let (reply, looks) = await watched.reply(to: request)
    #expect(reply.reason == reason, why, sourceLocation: sourceLocation)
    #expect(looks == 0, why, sourceLocation: sourceLocation)
  }

  @Test(arguments: signedRoutes)
  func aSignatureWithoutFormOrTimeReachesNoStorage(_ method: String, _ path: String) async throws {
    let watched = try await WatchedService()
    let id = watched.fixture.application.id
    let target = path.replacing("ID", with: id)
    func request(_ headers: [(name: String, value: String)]) -> ServiceRequest {
      ServiceRequest(method: method, target: target, authority: Fixture.authority, headers: headers)
    }
    let headers = [
      "", "hmac", "hmac \(id)", "hmac \(id):7", "hmac \(id):-7:AA==", "basic \(id):7:AA==", "hmac :7:AA==",
    ]
    for header in headers {
      await refuse(request([("Authentication", header)]), "AUTHENTICATION_MISSING", in: watched, "\(header)")
    }
    await refuse(request([]), "AUTHENTICATION_MISSING", in: watched)
    await refuse(request([("Authentication", "hmac \(id):7:AA==")]), "TIMESTAMP_MISSING", in: watched)
    let stale = try watched.fixture.signed(method, target)
    watched.fixture.clock.advance(seconds: RequestSigner.clockWindow + 1)
    await refuse(stale, "TIMESTAMP_OUTSIDE_WINDOW", in: watched)
    // This one is worth a look, so that the numbers above mean something.
    #expect(await watched.reply(to: try watched.fixture.signed(method, target)).looks > 0)
  }

  @Test(arguments: signedRoutes)
  func whatLooksLikeNoIDReachesNoStorage(_ method: String, _ path: String) async throws {
    let watched = try await WatchedService()
    let reason = path.contains("session_") ? "UNKNOWN_SESSION" : "UNKNOWN_APPLICATION"
    for id in ["nobody", Self.unknown.uppercased(), Self.unknown + "0", String(Self.unknown.dropLast()), "0%00"] {
      let signed = try watched.fixture.signed(method, path.replacing("ID", with: id))
      await refuse(signed, reason, in: watched, "\(id)")
    }
  }

  @Test func whoSignsUnderAnotherIDThanTheirPathsReachesNoStorage() async throws {
    let watched = try await WatchedService()
    for (method, path) in Self.signedRoutes where !path.contains("session_") {
      let signed = try watched.fixture.signed(method, path.replacing("ID", with: Self.unknown))
      await refuse(signed, "SIGNATURE_REFUSED", in: watched, "\(path)")
    }
  }

  @Test func whatLooksLikeNoCodeReachesNoStorage() async throws {
    let watched = try await WatchedService()
    for code in ["guess", Self.unknown.uppercased(), Self.unknown + "0"] {
      let links = ["/register/", "/console/enter/"]
      for link in links {
        let request = ServiceRequest(method: "GET", target: link + code, authority: Fixture.authority)
        let (reply, looks) = await watched.reply(to: request)
        #expect(reply.status == 404 && looks == 0, "\(link)")
      }
      let register = RegisterRequest(code: Secret(code), publicKey: "key").encoded()
      await refuse(TestPhone.request(DeviceRoute.register, register), "UNKNOWN_LINK", in: watched)
      let origin = [(name: "Origin", value: Fixture.origin)]
      let enter = ServiceRequest(
        method: "POST", target: "/console/enter", authority: Fixture.authority, headers: origin,
        body: Array("code=\(code)".utf8))
      #expect(await watched.reply(to: enter).looks == 0)
      for cookie in ["__Host-iampass-console", "__Host-iampass-console-ask"] {
        for path in ["/console", "/console/sign-in"] {
          let request = ServiceRequest(
            method: "GET", target: path, authority: Fixture.authority, headers: [("Cookie", "\(cookie)=\(code)")])
          let (reply, looks) = await watched.reply(to: request)
          #expect(reply.status == 401 && looks == 0, "\(path) \(cookie)")
        }
      }
    }
    let worthALook = ServiceRequest(
      method: "GET", target: "/register/" + Self.unknown, authority: Fixture.authority)
    #expect(await watched.reply(to: worthALook).looks > 0)
  }

  @Test func aPhonesStatementWithoutFormOrTimeReachesNoStorage() async throws {
    let watched = try await WatchedService()
    let fixture = watched.fixture
    let phone = TestPhone(fixture: fixture, key: try DeviceKey.generate(), device: Self.unknown)
    let routes: [([String], DevicePurpose)] = [
      (DeviceRoute.requests, .requests), (DeviceRoute.events, .events), (DeviceRoute.presence, .leave),
      (DeviceRoute.status, .status), (DeviceRoute.credential, .credential), (DeviceRoute.end, .end),
      (DeviceRoute.push, .push), (DeviceRoute.unregister, .unregister),
    ]
    for (route, purpose) in routes {
      func request(_ body: [UInt8]) -> ServiceRequest { TestPhone.request(route, body) }
      await refuse(request([]), "BAD_REQUEST", in: watched)
      let other = TestPhone(fixture: fixture, key: phone.key, device: "phone")
      await refuse(request(try other.askBody(purpose)), "UNKNOWN_DEVICE", in: watched)
      let elsewhere = try phone.askBody(purpose, origin: "https://elsewhere.test")
      await refuse(request(elsewhere), "WRONG_ORIGIN", in: watched)
      let wrong = try phone.askBody(purpose == .end ? .status : .end)
      await refuse(request(wrong), "BAD_REQUEST", in: watched)
      let stale = try phone.askBody(purpose)
      fixture.clock.advance(seconds: RequestSigner.clockWindow + 1)
      await refuse(request(stale), "TIMESTAMP_OUTSIDE_WINDOW", in: watched)
      #expect(await watched.reply(to: request(try phone.askBody(purpose))).looks > 0)
    }
    let answer = try UnverifiedStatement.body(signing: phone.ask(.requests).json, with: phone.key)
    await refuse(TestPhone.request(DeviceRoute.answer, answer), "BAD_REQUEST", in: watched)
  }

  @Test(arguments: ["/bc-authorize", "/token"])
  func aProgramWithoutAnIDReachesNoStorage(_ path: String) async throws {
    let watched = try await WatchedService()
    func request(_ id: String) -> ServiceRequest {
      ServiceRequest(
        method: "POST", target: path, authority: Fixture.authority,
        headers: [("Content-Type", "application/x-www-form-urlencoded")],
        body: Array("client_id=\(id)&client_secret=x".utf8))
    }
    let (reply, looks) = await watched.reply(to: request("bank"))
    #expect(reply.status == 401 && looks == 0)
    #expect(await watched.reply(to: request(Self.unknown)).looks > 0)
  }

  @Test func theKeyForPushMessagesIsReadOnceAMinute() async throws {
    let watched = try await WatchedService()
    let request = ServiceRequest(method: "GET", target: "/device/v1/push-key", authority: Fixture.authority)
    let (first, looks) = await watched.reply(to: request)
    #expect(first.status == 200 && looks == 1)
    let (second, further) = await watched.reply(to: request)
    #expect(second.body == first.body && further == 0)
    watched.fixture.clock.advance(seconds: KnownPushKey.lifetime)
    #expect(await watched.reply(to: request).looks == 1)
  }
}
