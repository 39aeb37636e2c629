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
    fixture.service.board.changed(.joins)
    #expect(await held.status == 200)
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
