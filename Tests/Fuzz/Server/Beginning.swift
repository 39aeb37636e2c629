import DeviceProtocol
import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSServer

/// How the world comes to be: by the service's own routes.
struct Beginning {
  struct Made: Sendable {
    let application: Application
    let host: HostCredential
    let key: DeviceKey
    let device: String
    let authenticator: Authenticator
    let sessions: [StartedSession]
    let requests: [OpenRequest]
  }

  struct Refused: Error { let reply: String }

  private let storage: SQLiteStorage
  private let service: SignInService

  init(_ storage: SQLiteStorage) {
    self.storage = storage
    service = SignInService.quiet(storage)
  }

  func played(copyingTo template: String) async throws -> Made {
    let application = try await storage.createApplication(named: "office", at: ServiceFixture.now)
    let host = try await storage.createHostCredential(
      named: "desk", host: "desk", of: application.id, at: ServiceFixture.now)
    try await ask(
      "POST", "/management/add_users/\(application.id)", UsersRequest(users: ["alice"]).encoded(), application)
    let linkReply = try await ask(
      "GET", "/management/device_registration_link/\(application.id)/alice", [], application)
    let link = try RegistrationLinkReply(parsing: linkReply).registerURL
    let code = Secret(String(link.dropFirst((ServiceFixture.origin + "/register/").count)))
    let key = try DeviceKey.generate()
    let authenticator = try Authenticator()
    let device = try await register(code, key, authenticator)
    var sessions: [StartedSession] = []
    for (host, query) in [("web-1", ""), ("web-2", "?methods=device")] {
      let reply = try await ask(
        "POST", "/authentication/authenticate_user/\(application.id)/alice" + query,
        StartRequest(context: SignInContext(host: host)).encoded(), application)
      guard case .started(let session) = try StartReply(parsing: reply) else { throw Refused(reply: reply.text) }
      sessions.append(session)
    }
    let requests = try await list(device, key)
    try await storage.copyAll(to: template)
    return Made(
      application: application, host: host, key: key, device: device, authenticator: authenticator, sessions: sessions,
      requests: requests)
  }

  private func register(_ code: Secret, _ key: DeviceKey, _ authenticator: Authenticator) async throws -> String {
    let text = try key.publicKey.text
    let credential = try authenticator.credential(challenge: CredentialChallenge.bytes(for: code, publicKey: text))
    let request = RegisterRequest(code: code, publicKey: text, credential: credential)
    return try RegisterReply(parsing: try await post(DeviceRoute.register, request.encoded())).device
  }

  /// In the order of the sessions: both began at one moment, so their hosts tell them apart.
  private func list(_ device: String, _ key: DeviceKey) async throws -> [OpenRequest] {
    let ask = DeviceAsk(
      origin: ServiceFixture.origin, device: device, purpose: .requests, timestamp: ServiceFixture.now.seconds,
      nonce: "first")
    let reply = try await post(DeviceRoute.requests, try UnverifiedStatement.body(signing: ask.json, with: key))
    return try RequestsReply(parsing: reply).requests.sorted { $0.context.host ?? "" < $1.context.host ?? "" }
  }

  @discardableResult
  private func ask(
    _ method: String, _ target: String, _ body: [UInt8], _ application: Application
  ) async throws -> [UInt8] {
    let signer = try RequestSigner(clientID: application.id, secret: application.secret, scheme: .documented)
    guard let nonce = Digest.randomNonce() else { throw Refused(reply: "no random bytes") }
    let signed = signer.headers(
      nonce: nonce, timestamp: ServiceFixture.now.seconds, uri: ServiceFixture.origin + target, dialect: .iampass)
    guard let headers = signed else { throw Refused(reply: "an address that cannot be signed") }
    return try await send(
      ServiceRequest(method: method, target: target, authority: ServiceFixture.authority, headers: headers, body: body))
  }

  private func post(_ path: [String], _ body: [UInt8]) async throws -> [UInt8] {
    try await send(
      ServiceRequest(
        method: "POST", target: "/" + path.joined(separator: "/"), authority: ServiceFixture.authority, body: body))
  }

  private func send(_ request: ServiceRequest) async throws -> [UInt8] {
    let reply = await service.respond(to: request)
    guard (200..<300).contains(reply.status) else { throw Refused(reply: reply.body.text) }
    return reply.body
  }
}
