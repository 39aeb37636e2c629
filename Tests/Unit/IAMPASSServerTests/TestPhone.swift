import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A phone whose steps a test takes one by one.
struct TestPhone {
  let fixture: Fixture
  let key: DeviceKey
  let device: String

  /// Adds `user`, and registers a phone for them.
  static func registered(in fixture: Fixture, user: String = "alice", lost: Bool = false) async throws -> TestPhone {
    try await fixture.addUserIfNew(user)
    let key = try DeviceKey.generate()
    let reply = try await register(in: fixture, code: try await fixture.linkCode(for: user, lost: lost), key: key)
    return TestPhone(fixture: fixture, key: key, device: try RegisterReply(parsing: reply.body).device)
  }

  static func register(in fixture: Fixture, code: Secret, key: DeviceKey? = nil) async throws -> ServiceReply {
    let key = try key ?? DeviceKey.generate()
    let request = RegisterRequest(code: code, publicKey: try key.publicKey.text)
    return await fixture.respond(Self.request(DeviceRoute.register, request.encoded()))
  }

  static func request(
    _ path: [String], _ body: [UInt8], headers: [(name: String, value: String)] = []
  ) -> ServiceRequest {
    ServiceRequest(
      method: "POST", target: "/" + path.joined(separator: "/"), authority: Fixture.authority, headers: headers,
      body: body)
  }

  func askBody(
    _ purpose: DevicePurpose, known: [String] = [], origin: String = Fixture.origin, nonce: String? = nil
  ) throws -> [UInt8] {
    let random = try #require(Digest.randomIdentifier())
    let ask = DeviceAsk(
      origin: origin, device: device, purpose: purpose, timestamp: fixture.clock.now.seconds, nonce: nonce ?? random,
      known: known)
    return try UnverifiedStatement.body(signing: ask.json, with: key)
  }

  func list(known: [String] = [], wait: Int? = nil) async throws -> [OpenRequest] {
    let headers = wait.map { [(name: "Prefer", value: "wait=\($0)")] } ?? []
    let reply = await fixture.respond(
      Self.request(DeviceRoute.requests, try askBody(.requests, known: known), headers: headers))
    return try RequestsReply(parsing: reply.body).requests
  }

  /// The statement that the phone signs as its answer.
  func statement(
    _ answer: DeviceAnswer, to request: OpenRequest, origin: String = Fixture.origin, nonce: String? = nil,
    contextHash: String? = nil, code: String = "", method: AuthenticationMethod? = nil,
    challenge: ApprovalChallenge? = nil
  ) -> AnswerStatement {
    AnswerStatement(
      origin: origin, device: device, session: request.session, answer: answer,
      contextHash: contextHash ?? ShownContext.hash(request.context), nonce: nonce ?? request.nonce,
      expires: request.expires, method: method ?? request.method, code: code, challenge: challenge ?? request.challenge)
  }

  func answerBody(
    _ answer: DeviceAnswer, to request: OpenRequest, origin: String = Fixture.origin, nonce: String? = nil,
    contextHash: String? = nil, code: String = ""
  ) throws -> [UInt8] {
    let statement = statement(
      answer, to: request, origin: origin, nonce: nonce, contextHash: contextHash, code: code)
    return try UnverifiedStatement.body(signing: statement.json, with: key)
  }

  @discardableResult
  func answer(_ answer: DeviceAnswer, to request: OpenRequest, code: String = "") async throws -> ServiceReply {
    await fixture.respond(Self.request(DeviceRoute.answer, try answerBody(answer, to: request, code: code)))
  }

  /// The members of every statement from this phone.
  func ask(_ purpose: DevicePurpose, nonce: String? = nil) throws -> DeviceAsk {
    let random = try #require(Digest.randomIdentifier())
    return DeviceAsk(
      origin: Fixture.origin, device: device, purpose: purpose, timestamp: fixture.clock.now.seconds,
      nonce: nonce ?? random)
  }

  func send(_ path: [String], _ statement: JSON) async throws -> ServiceReply {
    await fixture.respond(Self.request(path, try UnverifiedStatement.body(signing: statement, with: key)))
  }

  func end(_ sessions: [String]) async throws -> ServiceReply {
    try await send(DeviceRoute.end, EndStatement(ask: try ask(.end), sessions: sessions).json)
  }

  func unregister() async throws -> ServiceReply {
    try await send(DeviceRoute.unregister, try ask(.unregister).json)
  }

  func status() async throws -> ServiceReply { try await send(DeviceRoute.status, try ask(.status).json) }

  /// Approves the only open request.
  func approveOnly() async throws {
    let open = try await list()
    #expect(open.count == 1)
    #expect(try await answer(.approve, to: try #require(open.first)).status == 200)
  }

  @discardableResult
  func change(_ purpose: DevicePurpose) async throws -> ServiceReply {
    await fixture.respond(Self.request(DeviceRoute.presence, try askBody(purpose)))
  }
}

extension Fixture {
  func addUserIfNew(_ name: String) async throws {
    let reply = await respond(
      try signed("POST", "/management/add_users/\(application.id)", UsersRequest(users: [name]).encoded()))
    #expect(reply.status == 201)
  }
}
