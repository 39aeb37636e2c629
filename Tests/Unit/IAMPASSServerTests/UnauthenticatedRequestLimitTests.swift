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

  /// The service was started again: it knows none of them, and all have one public address.
  @Test(.timeLimit(.wholeRun), arguments: StorageEngine.allCases)
  func anOfficesComputersThatAskAtOnceAreAllAnswered(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(
      engine: engine, unauthenticated: UnauthenticatedRequestLimit(patience: .seconds(600)))
    let storage = fixture.service.core.storage
    var requests: [ServiceRequest] = []
    for number in 0..<3 * Self.share {
      let credential = try await storage.createHostCredential(
        named: "desk-\(number)", host: "desk-\(number)", of: "shop", at: storage.now())
      requests.append(try fixture.signed("GET", "/authentication/service_mark/" + credential.id, by: credential))
    }
    let statuses = await withTaskGroup(of: Int.self) { group in
      for request in requests { group.addTask { await fixture.respond(request).status } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: requests.count))
    #expect(fixture.service.core.unauthenticated.count == 0)
  }

  // The places and their queue

  private typealias Place = UnauthenticatedRequestLimit.Place

  private static let share = UnauthenticatedRequestLimit.greatestShare

  /// A limit that waits as long as it takes, and this sender's share of its places.
  private static func limit(fullOf sender: String) async throws -> (UnauthenticatedRequestLimit, [Place]) {
    let limit = UnauthenticatedRequestLimit(patience: .seconds(600))
    return (limit, try await fill(limit, from: sender))
  }

  private static func fill(_ limit: UnauthenticatedRequestLimit, from sender: String) async throws -> [Place] {
    var places: [Place] = []
    for _ in 0..<share { places.append(try await limit.enter(from: sender)) }
    return places
  }

  /// A request that waits by the time this returns.
  private static func waiter(
    _ sender: String, at limit: UnauthenticatedRequestLimit
  ) async -> Task<Place, any Error> {
    let before = limit.waiting
    let task = Task { try await limit.enter(from: sender) }
    while limit.waiting == before { await Task.yield() }
    return task
  }

  @Test(.timeLimit(.wholeRun)) func aSendersShareLeavesPlacesToOthers() async throws {
    let (limit, places) = try await Self.limit(fullOf: "a")
    let further = await Self.waiter("a", at: limit)
    let other = try await limit.enter(from: "b")
    #expect(limit.waiting == 1 && limit.count == Self.share + 1)
    other.leave()
    #expect(limit.waiting == 1 && limit.count == Self.share)
    places[0].leave()
    _ = try await further.value
    #expect(limit.waiting == 0 && limit.count == Self.share)
  }

  @Test(.timeLimit(.wholeRun)) func sendersWhoWaitTakeTurns() async throws {
    let (limit, places) = try await Self.limit(fullOf: "a")
    _ = try await Self.fill(limit, from: "b")
    var many: [Task<Place, any Error>] = []
    for _ in 0..<3 { many.append(await Self.waiter("many", at: limit)) }
    let one = await Self.waiter("one", at: limit)
    places[0].leave()
    _ = try await many[0].value
    // The first of the other's requests, and not the second of this one's.
    places[1].leave()
    _ = try await one.value
    #expect(limit.waiting == 2)
    places[2].leave()
    _ = try await many[1].value
    #expect(limit.waiting == 1 && limit.count == UnauthenticatedRequestLimit.greatestCount)
    places[3].leave()
    _ = try await many[2].value
  }

  @Test(.timeLimit(.wholeRun)) func whoHasWaitedLongEnoughIsRefused() async throws {
    let limit = UnauthenticatedRequestLimit(patience: .milliseconds(20))
    let places = try await Self.fill(limit, from: "a")
    await #expect(throws: TooManyUnauthenticatedRequests.self) { try await limit.enter(from: "a") }
    #expect(limit.waiting == 0 && limit.count == Self.share)
    // And nothing is kept for it.
    places[0].leave()
    #expect(limit.count == Self.share - 1)
    _ = try await limit.enter(from: "a")
  }

  @Test(.timeLimit(.wholeRun)) func noSenderLetsMoreWaitThanItsShare() async throws {
    let (limit, places) = try await Self.limit(fullOf: "a")
    var waiters: [Task<Place, any Error>] = []
    for _ in 0..<UnauthenticatedRequestLimit.greatestQueueShare { waiters.append(await Self.waiter("a", at: limit)) }
    await #expect(throws: TooManyUnauthenticatedRequests.self) { try await limit.enter(from: "a") }
    for place in places { place.leave() }
    for waiter in waiters { try await waiter.value.leave() }
    #expect(limit.waiting == 0 && limit.count == 0)
  }
}
