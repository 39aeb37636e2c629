import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Phones whose rows cannot be read: damaged ones, and those with words of a newer version on the same database.
@Suite struct StorageUnreadablePhoneTests {
  private static let damage: StaticString = "UPDATE phone SET presence = 'elsewhere' WHERE id = $1"

  @Test(arguments: StorageEngine.allCases)
  func oneIsLostAsAnyOtherAndMakesRoomForTheNext(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    try await room.execute(Self.damage, phone.id)
    let (code, stored) = try await room.makeLink(loss: .endsSessions(but: []))
    #expect(stored?.cutOff == [phone.id] && stored?.closed.map(\.id) == [session.id])
    let next = try StorageFixture.newPhone()
    _ = try await room.storage.register(next, by: code, at: room.now, deciding: StorageFixture.unusedLink).get()
    #expect(try await room.storage.phone(next.id)?.isCutOff == false)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneIsLostBesideAnotherThatStays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (bad, good) = (try await room.phone(), try await room.phone())
    let ended = try await room.approved(by: bad)
    let kept = try await room.approved(by: good, host: "web-2")
    try await room.execute(Self.damage, bad.id)
    let stored = try #require(await room.makeLink(loss: .endsSessions(but: []), phone: bad.id).stored)
    #expect(stored.cutOff == [bad.id] && stored.closed.map(\.id) == [ended.id])
    #expect(try await room.storage.session(kept.id)?.lifecycle.endedAt == nil)
    #expect(try await room.storage.requests(for: good, at: room.now) != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneIsNotLostInTheNameOfAnotherUser(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (bad, eve) = (try await room.phone(), try await room.phone(of: "eve"))
    try await room.execute(Self.damage, bad.id)
    #expect(try await room.makeLink(for: "eve", loss: .keepsSessions, phone: bad.id).stored == nil)
    #expect(try await room.storage.requests(for: eve, at: room.now) != nil)
    #expect(try await room.makeLink(loss: .keepsSessions).stored?.cutOff == [bad.id])
  }

  @Test(arguments: StorageEngine.allCases)
  func theOtherPhoneOfItsUserLeavesAndIsUnregistered(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (bad, good) = (try await room.phone(), try await room.phone())
    let session = try await room.approved(by: good)
    try await room.execute(Self.damage, bad.id)
    let moved = try #require(await room.storage.setPresence(.away, of: good, at: room.now))
    #expect(moved.map(\.id) == [session.id])
    #expect(try await room.storage.unregister(good, at: room.now) != nil)
    #expect(try await room.storage.phone(good.id)?.isCutOff == true)
  }

  @Test(arguments: StorageEngine.allCases)
  func theOtherPhoneOfItsUserIsAskedAndAnswers(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (bad, good) = (try await room.phone(), try await room.phone())
    try await room.execute(Self.damage, bad.id)
    let session = try await room.started(room.ask())
    let requests = try #require(await room.storage.requests(for: good, at: room.now))
    #expect(requests.unended.map(\.id) == [session.id])
    #expect(try await room.storage.account(of: good, at: room.now).phones.map(\.id) == [good.id])
    let page = try #require(await room.storage.pageState(of: good, at: room.now))
    #expect(page.phone.id == good.id)
    #expect(try await room.answer(session.id, .approve, by: good).get().lifecycle.approvedAt != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneCountsNeitherAsRevokedNorAsNone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (bad, good) = (try await room.phone(), try await room.phone())
    try await room.execute(Self.damage, bad.id)
    await #expect(throws: DamagedRow.self) { _ = try await room.storage.requests(for: bad, at: room.now) }
    await #expect(throws: DamagedRow.self) { _ = try await room.storage.pageState(of: bad, at: room.now) }
    try await room.execute(Self.damage, good.id)
    // The user has phones: nothing may be decided as for a user who has none.
    await #expect(throws: DamagedRow.self) { _ = try await room.start(room.ask()) }
  }

  @Test(arguments: StorageEngine.allCases)
  func itCountsAsAnotherIsRegistered(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let bad = try await room.phone()
    try await room.execute(Self.damage, bad.id)
    let (code, next) = (try await room.makeLink().code, try StorageFixture.newPhone())
    // Otherwise a thief of a link could take over an account whose owner has a phone.
    let result = try await room.storage.register(next, by: code, at: room.now) { facts in
      facts.phones == [bad.id] ? StorageFixture.unusedLink(facts) : .failure(Refusal(.hasMobileDevice))
    }
    _ = try result.get()
    #expect(try await room.storage.phone(next.id)?.name == "phone 2")
  }

  @Test(arguments: StorageEngine.allCases)
  func itsSilenceCountsAndKeepsNobodyElseHere(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.storage.changeSettings(of: room.application.id) { $0.silenceLeaves = true }
    var check = try await room.storage.leaveForSilence(since: nil, at: room.now, limit: 10).check
    var sessions: [String] = []
    for user in ["alice", "bob"] {
      let phone = try await room.phone(of: user)
      let session = try await room.approved(by: phone, for: user)
      _ = try await room.storage.collect(session.id, at: room.now)
      let stored = try #require(await room.storage.phone(phone.id))
      _ = try await room.storage.markSeen(stored, wasSilent: false, at: room.now)
      if user == "alice" { try await room.execute(Self.damage, phone.id) }
      sessions.append(session.id)
    }
    for _ in 0..<3 {
      room.clock.advance(seconds: 40)
      check = try await room.storage.leaveForSilence(since: check, at: room.now, limit: 10).check
    }
    room.clock.advance(seconds: 40)
    let portion = try await room.storage.leaveForSilence(since: check, at: room.now, limit: 10)
    #expect(Set(portion.moved.map(\.id)) == Set(sessions) && portion.isLast)
  }
}
