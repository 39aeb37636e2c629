import DeviceProtocol
import Foundation
import IAMPASSProtocol
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

/// The engines that keep the storage's contract: each runs every test of it. Another engine is another case.
enum StorageEngine: String, CaseIterable, Sendable {
  case sqlite
  case postgresql

  /// Tests share a machine that may be slow: only a test of its own is about waits.
  private static let patience = Duration.seconds(600)

  func open(in folder: String, _ clock: TestClock) throws -> any ServiceStorage {
    switch self {
    case .sqlite:
      try EmptyDatabase.put(in: folder)
      return try SQLiteStorage(folder: folder, clocks: clock.clocks, isMoving: false, patience: Self.patience)
    case .postgresql:
      return try PostgreSQLStorage(
        url: EmptyDatabase.url(ofSchema: Self.schema(of: folder)), clocks: clock.clocks, isMoving: false,
        patience: Self.patience)
    }
  }

  /// Each folder has a schema of its own in the place of a database. It is empty, unless ``open(in:_:)`` was first.
  static func url(of folder: String) throws -> String { try LocalPostgreSQL.url(schema: schema(of: folder)) }

  private static func schema(of folder: String) -> String {
    let name = folder.split(separator: "/").last.map(String.init) ?? folder
    return String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }
}

/// A storage with one application, seen through the protocol alone.
final class StorageFixture: Sendable {
  let engine: StorageEngine
  let clock = TestClock()
  let folder: String
  let storage: any ServiceStorage
  let application: Application

  init(_ engine: StorageEngine) async throws {
    self.engine = engine
    folder = TestFolder.path + "/iampass-room-" + (try #require(Digest.randomIdentifier()))
    storage = try engine.open(in: folder, clock)
    application = try await storage.createApplication(named: "shop", matchCodes: .off, at: storage.now())
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var now: UnixTime { storage.now() }

  /// A further connection to the same database, as another process has one or a service after a restart.
  func opened() throws -> any ServiceStorage { try engine.open(in: folder, clock) }

  func addUser(_ name: String = "alice") async throws -> Int64 {
    _ = try await storage.addUsers([name], to: application.id)
    return try #require(await storage.user(name, of: application.id)).user.id
  }

  /// A link for the user, by whom it can be used.
  func makeLink(
    for name: String = "alice", loss: PhoneLoss? = nil, phone: String? = nil
  ) async throws -> (code: Secret, stored: StoredLink?) {
    let code = Secret(try RandomValue.identifier())
    let order = LinkOrder(
      code: code, user: name, application: application.id, displayName: "Alice", loss: loss, lostPhone: phone)
    return (code, try await storage.makeLink(order, at: now))
  }

  /// A new phone of the user, who is added if need be.
  func phone(of name: String = "alice") async throws -> ActingPhone {
    let user = try await addUser(name)
    let phone = try Self.newPhone()
    let code = try await makeLink(for: name).code
    _ = try await storage.register(phone, by: code, at: now, deciding: Self.unusedLink).get()
    return ActingPhone(id: phone.id, user: user)
  }

  static func newPhone() throws -> NewPhone {
    NewPhone(id: try RandomValue.identifier(), publicKey: "key", credential: nil, pinMAC: nil)
  }

  /// The shortest rule about links: each works once.
  @Sendable static func unusedLink(_ facts: LinkFacts) -> Result<Link, Refusal> {
    guard let link = facts.link, !link.isUsed else { return .failure(Refusal(.linkUsed)) }
    return .success(link)
  }

  func ask(
    for user: String = "alice", host: String = "web-1", service: String? = nil, remoteHost: String? = nil,
    by credential: HostCredential? = nil, boot: SignedBoot? = nil,
    challenge: ApprovalChallenge? = nil, methods: [AuthenticationMethod] = AuthenticationMethod.allCases,
    duration: Int64 = 3_600
  ) -> SessionStartRequest {
    SessionStartRequest(
      user: user, signInClient: SignInClient(application: application, credential: credential), client: .unknown,
      methods: methods, duration: duration,
      context: SignInContext(host: host, service: service, remoteHost: remoteHost), hasContext: true,
      challenge: challenge, matchCode: nil, boot: boot)
  }

  /// - Parameter connection: nil: the room's own.
  func start(_ ask: SessionStartRequest, on connection: (any ServiceStorage)? = nil) async throws -> SessionStart {
    let now = now
    return try await (connection ?? storage).start(ask, at: now) { record in
      StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
  }

  func started(_ ask: SessionStartRequest, on connection: (any ServiceStorage)? = nil) async throws -> Session {
    guard case .started(let session, _) = try await start(ask, on: connection).outcome else { throw NotStarted() }
    return session
  }

  /// A session that the phone approved.
  func approved(by phone: ActingPhone, for user: String = "alice", host: String = "web-1") async throws -> Session {
    let session = try await started(ask(for: user, host: host))
    return try await answer(session.id, .approve, by: phone).get()
  }

  /// - Parameter connection: nil: the room's own.
  func answer(
    _ id: String, _ answer: DeviceAnswer, by phone: ActingPhone, on connection: (any ServiceStorage)? = nil
  ) async throws -> Result<Session, Refusal> {
    let now = now
    let stored = try #require(await storage.phone(phone.id))
    return try await (connection ?? storage).answer(id, by: phone, at: now) { facts, session in
      guard facts.isLive else { return .failure(.cutOff) }
      guard var session else { return .failure(Refusal(.unknownRequest)) }
      guard session.lifecycle.answer(answer, at: now) == .taken else {
        return .failure(Refusal(.alreadyAnswered))
      }
      let kept = KeptAnswer(
        session: session.id, phone: stored, statement: "{}", signature: "s", context: "{}", assertion: nil)
      session.answeredBy = phone.id
      return .success(TakenAnswer(session: session, authenticator: nil, kept: kept))
    }
  }

  /// An administrator's phone.
  func administratorPhone(of name: String, role: AdministratorRole = .admin) async throws -> ActingPhone {
    #expect(try await storage.addAdministrator(name, role: role, at: now) == .done)
    guard case .code(let code) = try await storage.invitation(ofAdministrator: name, isLost: false, at: now) else {
      throw NotStarted()
    }
    let phone = try Self.newPhone()
    let made = try await storage.register(phone, by: code, at: now, deciding: Self.unusedLink).get()
    return ActingPhone(id: phone.id, user: made.user)
  }

  /// The key of a browser whose sign-in an administrator's phone approved.
  func approvedAsk(of name: String) async throws -> Secret {
    let phone = try await administratorPhone(of: name)
    let session = try await started(administratorAsk(for: name))
    _ = try await answer(session.id, .approve, by: phone).get()
    let key = Secret(try RandomValue.identifier())
    #expect(
      try await storage.keep(
        ConsoleSignInRequest(key: key, session: session.id, matchCode: Secret("47"), askedAt: now), at: now))
    return key
  }

  func administratorAsk(for name: String) async throws -> SessionStartRequest {
    let own = try #require(try await storage.administratorsApplication())
    return SessionStartRequest(
      user: name,
      signInClient: SignInClient(application: try #require(try await storage.application(own)), credential: nil),
      client: .unknown, methods: AuthenticationMethod.allCases, duration: 3_600,
      context: SignInContext(service: "console of test"), hasContext: true, challenge: nil, matchCode: nil, boot: nil)
  }

  /// How many of ten attempts win that are made at once, as at two servers of one database.
  func wins(_ attempt: @escaping @Sendable (any ServiceStorage, Int) async -> Bool) async throws -> Int {
    let connections = [storage, try opened()]
    return await withTaskGroup(of: Bool.self) { group in
      for number in 0..<10 { group.addTask { await attempt(connections[number % 2], number) } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
  }

  func endOverdue(after place: OverdueCursor? = nil, limit: Int = 100) async throws -> OverduePortion {
    try await storage.endOverdue(at: now, after: place, limit: limit)
  }

  /// The events of the audit, the oldest first.
  func events() async throws -> [String] { try await storage.auditEntries(after: 0, limit: 1_000).map(\.event) }

  struct NotStarted: Error {}
  /// What a rule throws when a test wants it to.
  struct Thrown: Error {}
}

extension SessionStore {
  /// The session as its client gets it.
  func collect(_ id: String, at now: UnixTime) async throws -> SessionView? {
    guard let known = try await sessionView(id) else { return nil }
    return try await collect(known, at: now)
  }
}
