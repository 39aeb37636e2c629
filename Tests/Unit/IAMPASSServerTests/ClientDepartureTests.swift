import DeviceProtocol
import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// What is done for a client that has gone: changes, and nothing else.
@Suite struct ClientDepartureTests {
  /// The same request, of a client that has gone by the time that anything is read for it.
  private func gone(_ request: ServiceRequest) -> ServiceRequest {
    ServiceRequest(
      method: request.method, target: request.target, authority: request.authority, headers: request.headers,
      body: request.body, hasLeft: { true })
  }

  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func aStatusIsNotReadAndAnEndIsDone(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    let status = try fixture.signed("GET", session.statusURL, by: session)
    #expect(await fixture.respond(gone(status)).status == 503)
    // The service did not fail.
    let failed = #"iampass_request_seconds_count{route="status",status="5xx"}"#
    #expect(await !fixture.service.metricsText().contains(failed))
    // Its nonce was not used.
    #expect(await fixture.respond(status).status == 200)
    #expect(await fixture.respond(gone(try fixture.signed("POST", session.logoutURL, by: session))).status == 200)
    #expect(try await fixture.status(of: session).status == .closed)
  }

  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func aListingIsNotReadAndAnAnswerIsTaken(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    let list = TestPhone.request(DeviceRoute.requests, try phone.askBody(.requests))
    #expect(await fixture.respond(gone(list)).status == 503)
    let open = try #require(try await phone.list().first)
    let answer = TestPhone.request(DeviceRoute.answer, try phone.answerBody(.approve, to: open))
    #expect(await fixture.respond(gone(answer)).status == 200)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test(.timeLimit(.wholeRun)) func aReadThatWaitsIsNotBegunOnceItsClientHasGone() async throws {
    let places = ConcurrencyLimit(1, patience: .seconds(600))
    let isGone = Mutex(false)
    let departure = ClientDeparture { isGone.withLock { $0 } }
    try await places.enter()
    let read = Task { try await ClientDeparture.$current.withValue(departure) { try await places.enter() } }
    while places.waiting == 0 { await Task.yield() }
    isGone.withLock { $0 = true }
    places.leave()
    await #expect(throws: CancellationError.self) { try await read.value }
    // It has left its place to the next.
    #expect(places.free == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aReadIsNotBegunAndAChangeIsMade(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await ClientDeparture.$current.withValue(ClientDeparture { true }) {
      await #expect(throws: CancellationError.self) {
        _ = try await room.storage.user("alice", of: room.application.id)
      }
      _ = try await room.storage.addUsers(["alice"], to: room.application.id)
    }
    #expect(try await room.storage.user("alice", of: room.application.id) != nil)
  }
}
