import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Many clients that wait for their sessions are woken at once: what they read is read together.
@Suite struct SharedSessionViewTests {
  @Test(arguments: StorageEngine.allCases)
  func oneThatCannotBeReadFailsAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let bad = try await room.approved(by: phone).id
    let good = try await room.approved(by: phone, host: "web-2").id
    try await room.execute("UPDATE session SET method = 'telepathy' WHERE id = $1", bad)
    let found = try await room.storage.sessionViews([bad, good, "unknown"])
    #expect(Set(found.keys) == [bad, good])
    #expect(try found[good]?.get().session.id == good)
    #expect(throws: (any Error).self) { try found[bad]?.get() }
  }

  @Test(arguments: StorageEngine.allCases)
  func eachHasWhatItsComputerVerifies(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let challenge = try #require(ApprovalChallenge(Array(0..<32)))
    let verified = try await room.started(room.ask(challenge: challenge)).id
    let plain = try await room.started(room.ask(host: "web-2")).id
    for id in [verified, plain] { _ = try await room.answer(id, .approve, by: phone).get() }
    let found = try await room.storage.sessionViews([verified, plain])
    #expect(try found[verified]?.get().approval != nil && found[plain]?.get().approval == nil)
    #expect(try found[plain]?.get().session.lifecycle.status == .active)
  }

  @Test(.timeLimit(.wholeRun)) func clientsThatAskAtTheSameTimeShareARead() async throws {
    let count = 40
    let gate = StorageGate(["sessionView(_:)", "sessionViews(_:)"], isShut: true)
    let fixture = try await Fixture { LosingStorage($0, losing: -1, .before) { await gate.pass($0) } }
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    let requests = try (0..<count).map { _ in
      try fixture.signed("GET", session.statusURL, by: session, headers: [(name: "Prefer", value: "wait=60")])
    }
    let views = fixture.service.core.sessionViews
    let statuses = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
      group.addTask { await fixture.respond(requests[0]).status }
      // The first read is the first client's alone: one takes all who ask before it begins.
      while gate.looks == 0 { await Task.yield() }
      for request in requests.dropFirst() { group.addTask { await fixture.respond(request).status } }
      while views.waiting < count - 1 { await Task.yield() }
      #expect(gate.looks == 1)
      gate.open()
      fixture.service.stopHolding()
      var statuses: [Int] = []
      for await status in group { statuses.append(status) }
      return statuses
    }
    #expect(statuses == [Int](repeating: 200, count: count))
  }
}
