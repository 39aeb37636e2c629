import DeviceProtocol
import Foundation
import IAMPASSProtocol
import LocalPostgreSQL
import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// A machine's clocks, which move only on command. Clients use the wall clock's time.
final class TestClock: Sendable {
  private struct State {
    var boot = 1
    var sinceBoot: Int64 = 600_000
    var wall = UnixTime(seconds: 1_800_000_000)
  }

  private let state = Mutex(State())

  var now: UnixTime { state.withLock(\.wall) }

  var clocks: MachineClocks {
    MachineClocks(
      bootID: { self.state.withLock { "boot \($0.boot)" } }, sinceBoot: { self.state.withLock(\.sinceBoot) },
      wall: { self.now })
  }

  /// Time passes.
  func advance(seconds: Int64) {
    state.withLock {
      $0.sinceBoot += seconds * 1_000
      $0.wall = $0.wall.advanced(seconds: seconds)
    }
  }

  /// The wall clock is set.
  func step(seconds: Int64) { state.withLock { $0.wall = $0.wall.advanced(seconds: seconds) } }

  /// The machine was off for some seconds, and has been running for `running` seconds.
  func reboot(after seconds: Int64, running: Int64 = 5) {
    state.withLock {
      $0.boot += 1
      $0.sinceBoot = running * 1_000
      $0.wall = $0.wall.advanced(seconds: seconds)
    }
  }
}

/// A whole service in its own directory, without sockets.
final class Fixture: Sendable {
  static let authority = "iampass.test"
  static let origin = "https://iampass.test"

  let clock = TestClock()
  let folder: String
  let service: SignInService
  let application: Application
  /// The engine's storage, whatever is around it.
  private let bare: any ServiceStorage

  /// - Parameters:
  ///   - matchCodes: off unless the test is about codes.
  ///   - wrap: what the service works with, around the engine's storage.
  init(
    publicURL: String? = nil, matchCodes: MatchCodes = .off,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, engine: StorageEngine = .sqlite,
    unauthenticated: UnauthenticatedRequestLimit = .init(), wrap: (any ServiceStorage) -> any ServiceStorage = { $0 }
  ) async throws {
    folder = TestFolder.path + "/iampass-test-" + (try #require(Digest.randomIdentifier()))
    let storage = try engine.open(in: folder, clock)
    bare = storage
    application = try await storage.createApplication(named: "shop", matchCodes: matchCodes, at: clock.now)
    service = Fixture.service(
      wrap(storage), folder, publicURL: try publicURL.map { try ServerURL($0) }, unauthenticated: unauthenticated,
      logger: logger)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// A second service in the same directory, as after a restart.
  func restarted(publicURL: String? = nil) throws -> SignInService {
    Fixture.service(
      try SQLiteStorage(folder: folder, clocks: clock.clocks), folder,
      publicURL: try publicURL.map { try ServerURL($0) })
  }

  /// A second service in its own directory, with a given database.
  func service(in folder: String) throws -> SignInService {
    Fixture.service(try SQLiteStorage(folder: folder, clocks: clock.clocks), folder, publicURL: nil)
  }

  private static func service(
    _ storage: any ServiceStorage, _ programs: String, publicURL: ServerURL?,
    unauthenticated: UnauthenticatedRequestLimit = .init(),
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) -> SignInService {
    SignInService(
      on: storage, publicURL: publicURL, programs: programs, unauthenticated: unauthenticated, logger: logger,
      joinCodes: JoinCodeMaker { (secret) throws(JoinCodeMaker.Problem) in
        JoinCode(anchor: .authority, digest: Array(repeating: 7, count: 32), secret: secret)
      })
  }

  /// A service in a folder of its own, with a copy of the database.
  func putBack(_ copy: String) throws -> SignInService {
    let folder = folder + "/restored-" + (try #require(Digest.randomIdentifier()))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.copyItem(atPath: copy, toPath: folder + "/iampass.sqlite")
    return try service(in: folder)
  }

  /// A request signed by the application.
  func signed(
    _ method: String, _ target: String, _ body: [UInt8] = [], scheme: SigningScheme = .documented,
    nonce: UInt64? = nil, origin: String = Fixture.origin, headers: [(name: String, value: String)] = []
  ) throws -> ServiceRequest {
    try sign(
      method, target, body, by: application.id, application.secret, scheme: scheme, nonce: nonce, origin: origin,
      headers: headers)
  }

  /// A request signed by one host's credential.
  func signed(
    _ method: String, _ target: String, _ body: [UInt8] = [], by credential: HostCredential
  ) throws -> ServiceRequest {
    try sign(method, target, body, by: credential.id, credential.secret)
  }

  func startRequest(
    _ user: String, context: SignInContext, by credential: HostCredential
  ) throws -> ServiceRequest {
    try signed(
      "POST", "/authentication/authenticate_user/\(credential.id)/\(PercentEncoding.encode(user))",
      StartRequest(context: context).encoded(), by: credential)
  }

  /// A request signed by a session's token and secret.
  func signed(
    _ method: String, _ address: String, by session: StartedSession, nonce: UInt64? = nil,
    headers: [(name: String, value: String)] = []
  ) throws -> ServiceRequest {
    try sign(
      method, String(address.dropFirst(Fixture.origin.count)), [], by: session.token.exposedValue, session.secret,
      nonce: nonce, headers: headers)
  }

  /// A request signed with any id and secret.
  func signed(_ method: String, _ target: String, by id: String, _ secret: Secret) throws -> ServiceRequest {
    try sign(method, target, [], by: id, secret)
  }

  private func sign(
    _ method: String, _ target: String, _ body: [UInt8], by id: String, _ secret: Secret,
    scheme: SigningScheme = .documented, nonce: UInt64? = nil, origin: String = Fixture.origin,
    headers: [(name: String, value: String)] = []
  ) throws -> ServiceRequest {
    let signer = try RequestSigner(clientID: id, secret: secret, scheme: scheme)
    let random = try #require(Digest.randomNonce())
    let signing = try #require(
      signer.headers(nonce: nonce ?? random, timestamp: clock.now.seconds, uri: origin + target, dialect: .iampass))
    return ServiceRequest(
      method: method, target: target, authority: Fixture.authority, headers: signing + headers, body: body)
  }

  /// No request of any test may leave an entry in the audit without saying who did it. Others may work beside a request
  /// that is held.
  func respond(_ request: ServiceRequest) async -> ServiceReply {
    guard request.values(of: ["Prefer"]).isEmpty else { return await service.respond(to: request) }
    let last = try? await bare.newestAuditEntries(before: nil, limit: 1).first?.id ?? 0
    let reply = await service.respond(to: request)
    guard let last, let added = try? await bare.auditEntries(after: last, limit: 1_000) else { return reply }
    for entry in added where entry.actor == nil {
      Issue.record("\(request.method) \(request.target): the audit does not say who did this: \(entry.event)")
    }
    return reply
  }

  func addUser(_ name: String) async throws {
    let reply = await respond(
      try signed("POST", "/management/add_users/\(application.id)", UsersRequest(users: [name]).encoded()))
    #expect(reply.status == 201)
  }

  /// The code of a new registration link.
  func linkCode(for user: String, lost: Bool = false) async throws -> Secret {
    let call = lost ? "lost_user_mobile_device" : "device_registration_link"
    let reply = await respond(
      try signed("GET", "/management/\(call)/\(application.id)/\(PercentEncoding.encode(user))?display_name=Alice"))
    let link = try RegistrationLinkReply(parsing: reply.body).registerURL
    return Secret(String(link.dropFirst(Fixture.origin.count + "/register/".count)))
  }

  func startRequest(_ user: String, context: SignInContext = SignInContext(host: "web-1"), query: String = "") throws
    -> ServiceRequest
  {
    try signed(
      "POST", "/authentication/authenticate_user/\(application.id)/\(PercentEncoding.encode(user))" + query,
      StartRequest(context: context).encoded())
  }

  func start(
    _ user: String, context: SignInContext = SignInContext(host: "web-1"), query: String = ""
  ) async throws -> StartReply {
    try StartReply(parsing: await respond(try startRequest(user, context: context, query: query)).body)
  }

  func started(
    _ user: String, context: SignInContext = SignInContext(host: "web-1"), query: String = ""
  ) async throws -> StartedSession {
    guard case .started(let session) = try await start(user, context: context, query: query) else {
      throw NotStarted()
    }
    return session
  }

  struct NotStarted: Error {}

  func status(of session: StartedSession, wait: Int? = nil) async throws -> StatusReply {
    let headers = wait.map { [(name: "Prefer", value: "wait=\($0)")] } ?? []
    let reply = await respond(try signed("GET", session.statusURL, by: session, headers: headers))
    let told = try StatusReply(parsing: reply.body)
    #expect(told.session == session.name)
    return StatusReply(status: told.status, authenticated: told.authenticated, reason: told.reason)
  }

  func logOut(_ session: StartedSession) async throws -> ServiceReply {
    await respond(try signed("POST", session.logoutURL, by: session))
  }
}

extension SignInService {
  /// The service's storage as SQLite's, for tests that look into the database itself.
  var storage: SQLiteStorage {
    guard let storage = core.storage as? SQLiteStorage else { fatalError("the service's storage is not SQLite's") }
    return storage
  }
}

extension ServiceReply {
  var reason: String? { try? AcknowledgementReply(parsing: body).reason }
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// Whether the owner of `secret` signed this as the reply to `request`.
  func isSigned(for request: ServiceRequest, by secret: Secret) throws -> Bool {
    let claim = try #require(UnverifiedAuthentication(header: request.values(of: ["Authentication"])[0]))
    return header(ReplySignature.header)
      == ReplySignature.signature(secret: secret, nonce: claim.nonce, status: status, body: body)
  }

  /// Whether the reply's signature also covers the request.
  ///
  /// - Parameter address: the part of the request's address that the request's own signature covers.
  func isSigned(for request: ServiceRequest, at address: String, by secret: Secret) throws -> Bool {
    let claim = try #require(UnverifiedAuthentication(header: request.values(of: ["Authentication"])[0]))
    return header(ReplySignature.targetHeader)
      == ReplySignature.targetSignature(
        secret: secret, nonce: claim.nonce, method: request.method, address: address, status: status, body: body)
  }
}

extension SignInService {
  /// The metrics with all that the database has, however late it is on a busy machine.
  func patientMetrics() async -> String {
    await StockQuery.$patience.withValue(.seconds(600)) { await metricsText() }
  }
}
