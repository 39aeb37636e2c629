import DeviceProtocol
import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// Strangers whose requests look right, and a storage that is slow to say that they are not.
struct UnauthenticatedRequestLimitTests {
  /// A door that strangers' looks for sessions wait at.
  private final class Gate: Sendable {
    private let state = Mutex<(isShut: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func shut() { state.withLock { $0.isShut = true } }

    func pass(_ name: String) async {
      guard name == "keys(ofSession:)" else { return }
      await withCheckedContinuation { continuation in
        let isShut = state.withLock { state in
          if state.isShut { state.waiters.append(continuation) }
          return state.isShut
        }
        if !isShut { continuation.resume() }
      }
    }

    func open() {
      let waiters = state.withLock { state in
        defer { state = (false, []) }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  private static let strangers = 2_000

  /// From one machine, or from as many.
  @Test(
    .timeLimit(.wholeRun),
    arguments: [(1, UnauthenticatedRequestLimit.greatestShare), (strangers, UnauthenticatedRequestLimit.greatestCount)])
  func strangersWhoAreLookedForKeepNobodyWaitingWhoIsKnown(_ senders: Int, _ places: Int) async throws {
    let gate = Gate()
    let fixture = try await Fixture { LosingStorage($0, losing: -1, .before) { await gate.pass($0) } }
    let phone = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    #expect(try await fixture.status(of: session).status == .pending)
    #expect(try await phone.status().status == 200)
    gate.shut()
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<Self.strangers {
        let request = try stranger(fixture, from: "10.9.\(number % senders / 250).\(number % senders % 250 + 1)")
        group.addTask { await fixture.respond(request).status }
      }
      // All but those in the places are answered while the gate is shut.
      var statuses: [Int] = []
      while statuses.count < Self.strangers - places, let status = try await group.next() { statuses.append(status) }
      #expect(statuses.allSatisfy { $0 == 503 })
      #expect(fixture.service.core.unauthenticated.count == places)
      // And so are those who are known, and whoever asks after the service's health.
      #expect(try await fixture.status(of: session).status == .pending)
      let mark = "/authentication/service_mark/\(fixture.application.id)"
      #expect(await fixture.respond(try fixture.signed("GET", mark)).status == 200)
      #expect(try await phone.status().status == 200)
      let health = ServiceRequest(method: "GET", target: "/healthz", authority: Fixture.authority)
      #expect(await fixture.respond(health).status == 200)
      let refused = await fixture.respond(try stranger(fixture, from: "10.9.0.1"))
      #expect(refused.status == 503 && refused.header("Retry-After") == "1")
      gate.open()
      for try await status in group { statuses.append(status) }
      return statuses
    }
    #expect(statuses.count { $0 == 404 } == places)
    #expect(fixture.service.core.unauthenticated.count == 0)
    #expect(await fixture.respond(try stranger(fixture, from: "10.9.0.1")).status == 404)
  }

  /// A request of a session that nobody has, as right as it can be.
  private func stranger(_ fixture: Fixture, from peer: String) throws -> ServiceRequest {
    let id = try #require(Digest.randomIdentifier())
    let request = try fixture.signed(
      "GET", "/authentication/session_status/" + id, by: id, Secret("0123456789abcdef01234567"))
    return ServiceRequest(
      method: request.method, target: request.target, authority: request.authority, headers: request.headers,
      peer: peer)
  }

  @Test func aSendersShareLeavesPlacesToOthers() throws {
    let unauthenticated = UnauthenticatedRequestLimit()
    let places = try (0..<UnauthenticatedRequestLimit.greatestShare).map { _ in try unauthenticated.enter(from: "a") }
    #expect(throws: TooManyUnauthenticatedRequests.self) { try unauthenticated.enter(from: "a") }
    let other = try unauthenticated.enter(from: "b")
    places[0].leave()
    _ = try unauthenticated.enter(from: "a")
    other.leave()
    #expect(unauthenticated.count == UnauthenticatedRequestLimit.greatestShare)
  }
}
