import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A service with alice's phone and a program that speaks OpenID Connect.
struct BackchannelFixture {
  static let grant = "urn:openid:params:grant-type:ciba"

  let fixture: Fixture
  /// What is asked.
  var service: SignInService
  let phone: TestPhone
  let client: HostCredential
  let secret: Secret

  init(matchCodes: MatchCodes = .off) async throws {
    fixture = try await Fixture(matchCodes: matchCodes)
    service = fixture.service
    phone = try await TestPhone.registered(in: fixture)
    (client, secret) = try await fixture.service.storage.createOpenIDClient(
      named: "bank", shown: "The bank", of: "shop", at: fixture.clock.now)
  }

  /// Another program's id and secret.
  func other() async throws -> (id: String, secret: Secret) {
    let (client, secret) = try await fixture.service.storage.createOpenIDClient(
      named: "other", shown: "Another", of: "shop", at: fixture.clock.now)
    return (client.id, secret)
  }

  /// Posts a form as this program, by HTTP Basic.
  func post(
    _ path: String, _ fields: [String: String], by other: (id: String, secret: Secret)? = nil
  ) async throws -> ServiceReply {
    let (id, secret) = other ?? (client.id, secret)
    let basic = Base64.encode(Array("\(id):\(secret.exposedValue)".utf8))
    return await send(path, Self.form(fields), headers: [("Authorization", "Basic " + basic)])
  }

  static func form(_ fields: [String: String]) -> String {
    fields.map { PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
  }

  func send(_ path: String, _ body: String, headers: [(name: String, value: String)]) async -> ServiceReply {
    await service.respond(
      to: ServiceRequest(
        method: "POST", target: path, authority: Fixture.authority,
        headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers, body: Array(body.utf8)))
  }

  func ask(_ more: [String: String] = [:]) async throws -> ServiceReply {
    let usual = ["scope": "openid", "login_hint": "alice"]
    return try await post("/bc-authorize", usual.merging(more) { $1 })
  }

  /// The `auth_req_id` of a request that was started.
  func started(_ more: [String: String] = [:]) async throws -> String {
    let reply = try await ask(more)
    #expect(reply.status == 200)
    return try #require(try JSON(parsing: reply.body)["auth_req_id"]?.string)
  }

  func poll(_ name: String, by other: (id: String, secret: Secret)? = nil) async throws -> ServiceReply {
    try await post("/token", ["grant_type": Self.grant, "auth_req_id": name], by: other)
  }
}

extension ServiceReply {
  /// The code of an OAuth refusal.
  var openIDError: String? { (try? JSON(parsing: body))?["error"]?.string }
}
