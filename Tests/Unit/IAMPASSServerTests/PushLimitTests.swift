import DeviceProtocol
import IAMPASSProtocol
import NIOHTTP1
import Synchronization
import Testing

@testable import IAMPASSServer

/// Whose messages may be under way at once.
struct PushLimitTests {
  @Test func oneServiceTakesItsOwnPlacesAlone() {
    var places = PushLimit()
    #expect(Self.taken(PushLimit.mostAtOne + 10, at: "bad", &places) == PushLimit.mostAtOne)
    #expect(Self.taken(1, at: "good", &places) == 1)
    places.giveBack("bad")
    #expect(Self.taken(2, at: "bad", &places) == 1)
  }

  @Test func manyServicesLeaveEachAFew() {
    var places = PushLimit()
    for number in 0..<PushLimit.manyAtAll / PushLimit.mostAtOne {
      #expect(Self.taken(PushLimit.mostAtOne, at: "bad \(number)", &places) == PushLimit.mostAtOne)
    }
    #expect(Self.taken(10, at: "good", &places) == PushLimit.fewAtOne)
    // All of them together have a bound, too.
    let left = PushLimit.mostAtAll - PushLimit.manyAtAll - PushLimit.fewAtOne
    #expect((0..<PushLimit.mostAtAll).count { Self.taken(1, at: "further \($0)", &places) == 1 } == left)
  }

  private static func taken(_ count: Int, at service: String, _ places: inout PushLimit) -> Int {
    (0..<count).count { _ in places.take(service) }
  }

  /// A push service whose messages get an answer once the test says so.
  private final class HangingPushes: PushPosting {
    private struct State {
      var waiting: [CheckedContinuation<PushReply, Never>] = []
      var isHanging = true
      var good = 0
    }

    private let state = Mutex(State())
    var hanging: Int { state.withLock(\.waiting.count) }
    var good: Int { state.withLock(\.good) }

    func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> PushReply {
      guard subscription.origin == PushLimitTests.badOrigin else {
        state.withLock { $0.good += 1 }
        return PushReply(status: 201)
      }
      return await withCheckedContinuation { waiting in
        let isHanging = state.withLock { state in
          if state.isHanging { state.waiting.append(waiting) }
          return state.isHanging
        }
        if !isHanging { waiting.resume(returning: PushReply(status: 201)) }
      }
    }

    func answer() {
      let waiting = state.withLock { state in
        state.isHanging = false
        defer { state.waiting = [] }
        return state.waiting
      }
      for one in waiting { one.resume(returning: PushReply(status: 201)) }
    }
  }

  private static let badOrigin = "https://bad.push.example"

  @Test func aServiceThatHangsKeepsNoOtherFromRinging() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.storage
    let pushes = HangingPushes()
    let lines = LogLines()
    let sender = PushSender(storage: storage, trust: PushTrust(), logger: lines.logger, client: pushes)
    let alice = try await TestPhone.registered(in: fixture)
    _ = try await alice.subscribe(PushTests.subscription(at: Self.badOrigin))
    let bob = try await TestPhone.registered(in: fixture, user: "bob")
    _ = try await bob.subscribe(PushTests.subscription(at: "https://good.push.example"))
    let bad = try await session(of: "alice", fixture)
    let good = try await session(of: "bob", fixture)
    for _ in 0..<PushLimit.mostAtOne + 10 { sender.ring(for: bad, contact: Fixture.origin) }
    try await Self.until { lines.all.count(where: { $0.level == .warning }) == 10 }
    #expect(pushes.hanging == PushLimit.mostAtOne)
    sender.ring(for: good, contact: Fixture.origin)
    try await Self.until { pushes.good == 1 }
    pushes.answer()
    #expect(Set(lines.all.compactMap { $0.level == .warning ? $0.metadata["push_service"] : nil }) == [Self.badOrigin])
  }

  private static func until(_ isSo: () -> Bool) async throws {
    for _ in 0..<6_000 where !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    #expect(isSo())
  }

  private func session(of user: String, _ fixture: Fixture) async throws -> Session {
    let name = try #require(try await fixture.started(user).name)
    return try #require(try await fixture.service.storage.session(name))
  }
}
