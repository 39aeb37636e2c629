import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// An administrator's phone that answers once for a user who has none at hand.
@Suite struct LocumTests {
  private struct LocumFixture {
    let room: StorageFixture
    let alice: ActingPhone
    let carol: ActingPhone
    let challenge = ApprovalChallenge.draw()

    init(_ engine: StorageEngine) async throws {
      room = try await StorageFixture(engine)
      alice = try await room.phone()
      carol = try await room.phone(of: "carol")
    }

    func allow(_ user: String = "alice", by administrator: String = "carol") async throws {
      let desk = try #require(room.storage as? any OperatorStore)
      _ = try await desk.allowLocum(
        LocumOrder(application: "shop", user: user, administrator: administrator), at: room.now)
    }

    func started(verified: Bool = true, host: String = "web-1") async throws -> Session {
      try await room.started(room.ask(host: host, challenge: verified ? challenge : nil))
    }

    func shown(_ phone: ActingPhone) async throws -> [String] {
      try #require(await room.storage.requests(for: phone, at: room.now)).unended.map(\.id)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aLocumAnswersOneSignInAndBothAreNamed(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    try await scene.allow()
    let session = try await scene.started()
    #expect(try await scene.shown(scene.carol) == [session.id])
    #expect(try await scene.shown(scene.alice) == [session.id])
    let approved = try await scene.room.answer(session.id, .approve, by: scene.carol).get()
    #expect(approved.lifecycle.isApproved && approved.answeredBy == scene.carol.id)
    // The next one is the user's own again.
    let next = try await scene.started(host: "web-2")
    #expect(next.locum == nil && next.asked == nil)
    #expect(try await scene.shown(scene.carol).isEmpty)
    let refused = try await scene.room.answer(next.id, .approve, by: scene.carol)
    #expect(throws: Refusal.self) { try refused.get() }
    let told = try await scene.room.storage.account(of: scene.alice, at: scene.room.now).byLocums
    #expect(told.map(\.name) == ["Alice"] && told.map(\.context.host) == ["web-1"])
    let events = try await scene.room.storage.auditEntries(after: 0, limit: 100)
    let locums = events.filter { $0.event.hasPrefix("locum") }
    #expect(locums.map(\.event) == ["locum allowed", "locum approved"])
    let carol = try #require(session.locum).user
    #expect(locums.map { $0["locum"] } == ["user \(carol)", "user \(carol)"])
    #expect(locums.map { $0["locum_phone"] } == [scene.carol.id, scene.carol.id])
  }

  @Test(arguments: StorageEngine.allCases)
  func aDenialByTheLocumOrTheUserEndsIt(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    for denying in [scene.carol, scene.alice] {
      try await scene.allow()
      let session = try await scene.started()
      _ = try await scene.room.answer(session.id, .deny, by: denying).get()
      let other = denying.id == scene.carol.id ? scene.alice : scene.carol
      let late = try await scene.room.answer(session.id, .approve, by: other)
      #expect(throws: Refusal.self) { try late.get() }
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aLocumBlocksNoSourceOfTheUser(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    try await scene.allow()
    let session = try await scene.started()
    _ = try await scene.room.answer(session.id, .notMe, by: scene.carol).get()
    let next = try await scene.started()
    _ = try await scene.room.answer(next.id, .notMe, by: scene.alice).get()
    await #expect(throws: (any Error).self) { try await scene.started() }
  }

  @Test(arguments: StorageEngine.allCases)
  func anAdministratorWithTwoPhonesNamesOne(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    let desk = try #require(scene.room.storage as? any OperatorStore)
    let second = try await scene.room.phone(of: "carol")
    func allow(_ phone: String?) async throws {
      _ = try await desk.allowLocum(
        LocumOrder(application: "shop", user: "alice", administrator: "carol", phone: phone), at: scene.room.now)
    }
    for phone in [nil, "another", ""] {
      await #expect {
        try await allow(phone)
      } throws: { if case LocumRefusal.severalPhones(let names) = $0 { names.count == 2 } else { false } }
    }
    try await allow(second.id)
    #expect(try await scene.started().locum?.phone == second.id)
  }

  @Test(arguments: StorageEngine.allCases)
  func withoutTheHelpdeskOrAfterTwoMinutesNoLocumIsAsked(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    let before = try await scene.started()
    let refused = try await scene.room.answer(before.id, .approve, by: scene.carol)
    #expect(throws: Refusal.self) { try refused.get() }
    try await scene.allow()
    scene.room.clock.advance(seconds: Locum.lifetime)
    #expect(try await scene.started().locum == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aComputerThatDoesNotVerifyAsksNoLocum(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    try await scene.allow()
    #expect(try await scene.started(verified: false).locum == nil)
    #expect(try await scene.started(host: "web-2").locum != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aUserIsHelpedThreeTimesADay(_ engine: StorageEngine) async throws {
    let scene = try await LocumFixture(engine)
    for _ in 0..<Locum.greatestCount { try await scene.allow() }
    await #expect(throws: LocumRefusal.tooOften) { try await scene.allow() }
    await #expect(throws: LocumRefusal.samePerson) { try await scene.allow("carol") }
    await #expect(throws: LocumRefusal.unknownAdministrator) { try await scene.allow(by: "nobody") }
    _ = try await scene.room.addUser("eve")
    await #expect(throws: LocumRefusal.userHasNoPhone) { try await scene.allow("eve") }
    await #expect(throws: LocumRefusal.administratorHasNoPhone) { try await scene.allow("carol", by: "eve") }
  }
}
