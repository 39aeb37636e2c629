import DeviceProtocol
import IAMPASSProtocol
import Logging
import Testing

@testable import IAMPASSServer

/// The connection to the storage is lost at every call of a sign-in in turn, before the call or after it. Nobody is told
/// of a success then, nothing is half done, and whoever asks again gets on.
@Suite struct LostConnectionTests {
  /// What is asked before a request has proven who sends it, and what has no entry in the audit. Everything else says who
  /// does it.
  private static let withoutActor: Set = [
    "signInClients(_:)", "useNonce(_:at:)", "useNonce(_:reading:at:)", "useNonce(_:telling:at:)", "keys(ofSession:)",
    "phone(_:)", "sessionViews(_:)",
    "link(_:)", "phone(registeredBy:)", "keepTime()",
  ]

  @Test(arguments: StorageEngine.allCases, LosingStorage.Moment.allCases)
  func aSignInIsNeverHalfDone(_ engine: StorageEngine, _ moment: LosingStorage.Moment) async throws {
    var lost: Set<String> = []
    var number = 0
    while true {
      let play = try await SignInPlay(engine, losing: number, moment)
      try await play.perform()
      // It may be the one that loses the connection.
      do { try await play.fixture.service.tidy() } catch is LosingStorage.ConnectionLost {}
      #expect(play.losing.anonymous.subtracting(Self.withoutActor).isEmpty)
      guard let call = play.losing.lost else { break }
      lost.insert(call)
      number += 1
    }
    // A guard that nothing reaches guards nothing.
    #expect(
      lost.isSuperset(of: [
        "signInClients(_:)", "useNonce(_:at:)", "useNonce(_:reading:at:)", "mark()", "addUsers(_:called:to:)",
        "makeLink(_:at:)",
        "link(_:)", "register(_:by:at:deciding:)", "start(_:at:deciding:)", "phone(_:)", "requests(for:at:)",
        "answer(_:by:at:deciding:)", "keys(ofSession:)",
        "useNonce(_:telling:at:)", "changeSession(_:by:)", "setPresence(_:of:at:)", "account(of:at:)",
      ]))
  }

  @Test(arguments: StorageEngine.allCases, LosingStorage.Moment.allCases)
  func housekeepingGoesOnWithItsNextRound(_ engine: StorageEngine, _ moment: LosingStorage.Moment) async throws {
    var number = 0
    while true {
      let play = try await SignInPlay(engine, losing: number, moment)
      do {
        try await play.fixture.service.tidy()
        break
      } catch is LosingStorage.ConnectionLost {
        try await play.fixture.service.tidy()
      }
      number += 1
    }
    #expect(number >= 4)
  }

  @Test(arguments: StorageEngine.allCases) func aHealthCheckFailsMeanwhile(_ engine: StorageEngine) async throws {
    let play = try await SignInPlay(engine, losing: 0, .before)
    let request = ServiceRequest(method: "GET", target: "/healthz", authority: Fixture.authority)
    let reply = await play.fixture.respond(request)
    #expect(reply.status == 503)
    #expect(reply.reason == "STORAGE_UNAVAILABLE")
    #expect(await play.fixture.respond(request).status == 200)
  }
}

extension LostConnectionTests {
  @Test(arguments: StorageEngine.allCases)
  func whoIsHeldMeanwhileIsToldAndAsksAgain(_ engine: StorageEngine) async throws {
    let play = try await SignInPlay(engine, losing: .max, .before)
    let service = play.fixture.service
    let (session, phone) = try await play.waiting()
    let count = 40
    let replies = try await withThrowingTaskGroup(of: ServiceReply.self) { group in
      for _ in 0..<count {
        let request = try play.fixture.signed(
          "GET", session.statusURL, by: session, headers: [(name: "Prefer", value: "wait=20")])
        group.addTask { await service.respond(to: request) }
      }
      try await untilHeld(service, count: count)
      play.losing.setDown(true)
      service.board.changed(.session(try #require(session.name)))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(replies.count == count)
    #expect(replies.allSatisfy { $0.status == 503 && $0.reason == "STORAGE_UNAVAILABLE" })
    play.losing.setDown(false)
    try await play.approve(session, with: phone)
    try await play.expect(.active, of: session)
  }

  /// Another server, or the same after a restart.
  @Test(arguments: StorageEngine.allCases)
  func aSignInGoesOnAtAnotherService(_ engine: StorageEngine) async throws {
    let play = try await SignInPlay(engine, losing: .max, .before)
    let (session, phone) = try await play.waiting()
    play.losing.setDown(true)
    let other = SignInService(
      on: try engine.open(in: play.fixture.folder, play.fixture.clock), publicURL: nil,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let listed = await other.respond(to: TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests)))
    let open = try #require(RequestsReply(parsing: listed.body).requests.first)
    let answer = TestPhone.request(DeviceRoute.answer, try phone.answerBody(.approve, to: open))
    #expect(await play.fixture.respond(answer).status == 503)
    #expect(await other.respond(to: answer).status == 200)
    let request = try play.fixture.signed("GET", session.statusURL, by: session)
    #expect(await play.fixture.respond(request).status == 503)
    #expect(try StatusReply(parsing: await other.respond(to: request).body).status == .active)
    play.losing.setDown(false)
    #expect(await play.fixture.respond(request).reason == "NONCE_REPLAYED")
    #expect(await play.fixture.respond(answer).reason == "ALREADY_ANSWERED")
  }
}

/// One sign-in, from the user to the logout. Its requests are sent again after a 503, as clients do.
private final class SignInPlay: Sendable {
  let losing: LosingStorage
  let fixture: Fixture

  init(_ engine: StorageEngine, losing number: Int, _ moment: LosingStorage.Moment) async throws {
    fixture = try await Fixture(engine: engine) { LosingStorage($0, losing: number, moment, remembersKeys: false) }
    losing = try #require(fixture.service.core.storage as? LosingStorage)
  }

  func perform() async throws {
    let (session, phone) = try await waiting()
    try await approve(session, with: phone)
    try await expect(.active, of: session)
    try await move(.leave, phone)
    try await expect(.walkaway, of: session)
    try await move(.return, phone)
    try await expect(.active, of: session)
    #expect(try await ask { try self.fixture.signed("POST", session.logoutURL, by: session) }.status == 200)
    try await expect(.closed, of: session)
    #expect(try await losing.inner.keptAnswers(after: 0, limit: 10).count == 1)
  }

  /// A request that waits for the phone's answer.
  func waiting() async throws -> (StartedSession, TestPhone) {
    let shop = fixture.application.id
    let users = UsersRequest(users: ["alice"]).encoded()
    #expect(try await ask { try self.fixture.signed("POST", "/management/add_users/\(shop)", users) }.status == 201)
    let phone = try await register()
    return (try await start(), phone)
  }

  /// The reply that a client works with in the end.
  private func ask(_ request: () throws -> ServiceRequest) async throws -> ServiceReply {
    let before = losing.lost
    let reply = await fixture.respond(try request())
    guard losing.lost != before else { return reply }
    try await expectNothingHalfDone()
    // The answer is stored by then, and the phone is told so.
    if losing.lost == "wasSilent(_:isAsking:)", reply.status == 200 { return reply }
    #expect(reply.status == 503)
    #expect(reply.reason == "STORAGE_UNAVAILABLE")
    return await fixture.respond(try request())
  }

  private func expectNothingHalfDone() async throws {
    let entries = try await losing.inner.auditEntries(after: 0, limit: 1_000).map(\.event)
    func count(_ event: String) -> Int { entries.count { $0 == event } }
    let stock = try await losing.inner.stock()
    #expect(try await losing.inner.keptAnswers(after: 0, limit: 10).count == count("approved"))
    #expect(Int(stock.phones) == count("phone registered") - count("phone cut off"))
    #expect(Int(stock.unanswered) == count("asked") - count("approved"))
    #expect(Int(stock.live) == count("approved") - count("ended"))
  }

  private func link() async throws -> Secret {
    let reply = try await ask {
      try self.fixture.signed("GET", "/management/device_registration_link/\(self.fixture.application.id)/alice")
    }
    let link = try RegistrationLinkReply(parsing: reply.body).registerURL
    return Secret(String(link.dropFirst(Fixture.origin.count + "/register/".count)))
  }

  private func register() async throws -> TestPhone {
    let key = try DeviceKey.generate()
    // If the link was used, and the reply lost, the phone gets it the second time.
    let reply = try await register(key, by: link())
    #expect(reply.status == 200)
    return TestPhone(fixture: fixture, key: key, device: try RegisterReply(parsing: reply.body).device)
  }

  private func register(_ key: DeviceKey, by code: Secret) async throws -> ServiceReply {
    let body = RegisterRequest(code: code, publicKey: try key.publicKey.text).encoded()
    return try await ask { TestPhone.request(DeviceRoute.register, body) }
  }

  private func start() async throws -> StartedSession {
    let reply = try await ask { try self.fixture.startRequest("alice") }
    if case .started(let session) = try StartReply(parsing: reply.body) { return session }
    // The request is open, and nobody waits for it: its time passes.
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "REQUEST_PENDING"))
    fixture.clock.advance(seconds: SessionLifecycle.answerTime)
    try await AuditActor.$current.withValue(.service) {
      try await fixture.service.core.closeOverdue(at: fixture.service.core.clock())
    }
    return try await fixture.started("alice")
  }

  func approve(_ session: StartedSession, with phone: TestPhone) async throws {
    let listed = try await ask { TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests)) }
    let open = try RequestsReply(parsing: listed.body).requests
    #expect(open.map(\.session) == [session.name])
    let request = try #require(open.first)
    let reply = try await ask { TestPhone.request(DeviceRoute.answer, try phone.answerBody(.approve, to: request)) }
    // The second if the first reply was lost with the connection.
    #expect([200, 409].contains(reply.status))
  }

  private func move(_ purpose: DevicePurpose, _ phone: TestPhone) async throws {
    #expect(try await ask { TestPhone.request(DeviceRoute.presence, try phone.askBody(purpose)) }.status == 200)
  }

  func expect(_ status: SessionStatus, of session: StartedSession) async throws {
    let reply = try await ask { try self.fixture.signed("GET", session.statusURL, by: session) }
    #expect(reply.status == 200)
    #expect(try StatusReply(parsing: reply.body).status == status)
    #expect(try await losing.inner.session(try #require(session.name))?.lifecycle.status == status)
  }
}
