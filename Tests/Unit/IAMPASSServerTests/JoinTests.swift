import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Joins over the service's route.
@Suite struct JoinTests {
  private let fixture: Fixture
  private let secret = Secret(Base64.encode(Array(repeating: 9, count: 24)))

  init() async throws { fixture = try await Fixture() }

  private func makeCode(isUnattended: Bool) async throws -> StoredJoinCode {
    let order = JoinOrder(
      application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: isUnattended)
    return try await fixture.service.storage.createJoinCode(order, at: fixture.service.storage.now())
  }

  private func ask(
    _ code: String = "code", headers: [(name: String, value: String)] = []
  ) async -> ServiceReply {
    let body = JoinRequest(code: Secret(code), name: "desk-7", secret: secret).encoded()
    return await fixture.respond(
      ServiceRequest(
        method: "POST", target: "/join", authority: Fixture.authority, headers: headers, body: body, peer: "192.0.2.7"))
  }

  @Test func whoHasJoinedMaySignIn() async throws {
    _ = try await makeCode(isUnattended: true)
    let reply = await ask()
    #expect(reply.status == 200)
    guard case .joined(let id, "desk-7", "shop", nil) = try JoinReply(parsing: reply.body) else {
      Issue.record("not joined")
      return
    }
    let credential = try #require(try await fixture.service.storage.signInClient(id)?.credential)
    let mark = try fixture.signed("GET", "/authentication/service_mark/\(id)", by: credential.id, secret)
    #expect(await fixture.respond(mark).status == 200)
    // Nothing secret is in the reply: the computer made its secret itself.
    #expect(!String(decoding: reply.body, as: UTF8.self).contains(secret.exposedValue))
  }

  @Test func aHeldAskIsToldOfTheDecision() async throws {
    _ = try await makeCode(isUnattended: false)
    #expect(await ask().status == 202)
    async let held = ask(headers: [("Prefer", "wait=20")])
    while fixture.service.board.heldCount == 0 { await Task.yield() }
    _ = try await fixture.service.storage.decideJoin("desk-7", isApproved: true, at: fixture.service.storage.now())
    fixture.service.board.changed(.joining(name: "desk-7", mark: JoinCode.mark(of: secret)))
    #expect(await held.status == 200)
  }

  @Test func aDecisionWakesTheComputerThatItIsAboutAlone() async throws {
    _ = try await makeCode(isUnattended: false)
    #expect(await ask().status == 202)
    let waiting = try #require(try await fixture.service.storage.joinCodes().first?.joinings.first)
    let (board, mark) = (fixture.service.board, JoinCode.mark(of: secret))
    let meant = board.watch(.joining(name: "desk-7", mark: mark))
    let other = board.watch(.joining(name: "desk-8", mark: mark))
    #expect(board.joiningCount == 2)
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    #expect(await visitor.post("/joins/\(waiting.id)/approve", [:]).status == 303)
    #expect(await meant.wake(milliseconds: 0) == .change)
    #expect(await other.wake(milliseconds: 0) == .time)
  }

  /// An image was started on a thousand computers, and nobody has decided yet.
  @Test(arguments: [(1, 1_000), (100, 1_000), (1_000, 10_000)] as [(Int, Int64)])
  func manyThatWaitLookLessOften(_ waiting: Int, _ interval: Int64) {
    #expect(JoinReplies.interval(of: waiting) == interval)
  }

  @Test func whoWaitsNoMoreIsNotCounted() {
    let board = ChangeBoard()
    do {
      let watches = (1...3).map { board.watch(.joining(name: "desk-\($0)", mark: "123456")) }
      #expect(board.joiningCount == watches.count)
    }
    #expect(board.joiningCount == 0)
  }

  @Test func badAsksAreRefused() async throws {
    _ = try await makeCode(isUnattended: true)
    #expect(await ask("other").status == 404)
    for body in ["", "{}", #"{"code":"code","name":"a b","secret":"x"}"#] {
      let request = ServiceRequest(
        method: "POST", target: "/join", authority: Fixture.authority, body: Array(body.utf8), peer: "192.0.2.7")
      #expect(await fixture.respond(request).status == 400)
    }
    #expect(try await fixture.service.storage.joinCodes().first?.joinings.isEmpty == true)
  }

  @Test func guessersAreToldToWaitAndTheRightCodeIsTaken() async throws {
    _ = try await makeCode(isUnattended: true)
    for _ in 0..<60 { #expect(await ask("other").status == 404) }
    #expect(await ask("other").status == 429)
    #expect(await ask().status == 200)
  }
}
