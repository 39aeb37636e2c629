import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Many phones become silent at once. They leave in portions of one transaction each.
@Suite struct SilencePortionsTests {
  @Test(arguments: StorageEngine.allCases)
  func manyLeaveInPortionsTheLongestSilentFirst(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.storage.changeSettings(of: room.application.id) { $0.silenceLeaves = true }
    var check = try await room.storage.leaveForSilence(since: nil, at: room.now, limit: 2).check
    var sessions: [String] = []
    for number in 1...5 {
      let user = "user \(number)"
      let phone = try await room.phone(of: user)
      let session = try await room.approved(by: phone, for: user)
      _ = try await room.storage.collect(session.id, at: room.now)
      let stored = try #require(await room.storage.phone(phone.id))
      _ = try await room.storage.markSeen(stored, wasSilent: false, at: room.now)
      sessions.append(session.id)
      room.clock.advance(seconds: 1)
    }
    for _ in 0..<3 {
      room.clock.advance(seconds: 40)
      let look = try await room.storage.leaveForSilence(since: check, at: room.now, limit: 2)
      #expect(look.moved.isEmpty && look.isLast)
      check = look.check
    }
    room.clock.advance(seconds: 40)
    var portions: [[String]] = []
    var isLast = false
    while !isLast, portions.count < 9 {
      let portion = try await room.storage.leaveForSilence(since: check, at: room.now, limit: 2)
      check = portion.check
      portions.append(portion.moved.map(\.id))
      isLast = portion.isLast
    }
    #expect(portions == [Array(sessions[..<2]), Array(sessions[2..<4]), [sessions[4]]])
    for id in sessions { #expect(try await room.storage.session(id)?.lifecycle.status == .walkaway) }
  }

  @Test func oneRoundTakesAllPortions() async throws {
    let (fixture, sessions) = try await silent(["alice", "bob", "carol"])
    try await fixture.service.leaveForSilence(at: fixture.service.core.clock(), portion: 1)
    for session in sessions { #expect(try await fixture.status(of: session).status == .walkaway) }
  }

  /// Whoever waits for a session of the first portion does not wait for the others.
  @Test func whatHasLeftIsToldThoughALaterPortionFails() async throws {
    let (fixture, sessions) = try await silent(["alice", "bob"])
    let service = fixture.service
    let storage = service.storage
    try await storage.write {
      try $0.execute(
        """
        CREATE TRIGGER refusing BEFORE UPDATE OF is_silent ON phone
        WHEN OLD.user_id = (SELECT id FROM app_user WHERE name = 'bob') BEGIN SELECT RAISE(ABORT, 'no'); END
        """)
    }
    async let told = fixture.status(of: sessions[0], wait: 60)
    try await untilHeld(service)
    await #expect(throws: (any Error).self) {
      try await service.leaveForSilence(at: service.core.clock(), portion: 1)
    }
    // Long before the wait is over.
    for _ in 0..<4_000 where service.board.heldCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(service.board.heldCount == 0)
    #expect(try await told.status == .walkaway)
    try await storage.write { try $0.execute("DROP TRIGGER refusing") }
    try await service.leaveForSilence(at: service.core.clock(), portion: 1)
    #expect(try await fixture.status(of: sessions[1]).status == .walkaway)
  }

  /// Silence while the service was away does not count. Writers do not wait until it is taken off every phone's.
  @Test(arguments: StorageEngine.allCases)
  func manyAreCreditedInPortionsAndEachOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let storage = room.storage
    try await storage.changeSettings(of: room.application.id) { $0.silenceLeaves = true }
    let first = try await storage.leaveForSilence(since: nil, at: room.now, limit: 1).check
    let begin = room.now
    var phones: [String] = []
    for number in 0..<12 { phones.append(try await room.phone(of: "user \(number)").id) }
    func hear(_ phone: String) async throws {
      _ = try await storage.markSeen(try #require(await storage.phone(phone)), wasSilent: false, at: room.now)
    }
    for phone in phones { try await hear(phone) }
    phones.sort()
    room.clock.advance(seconds: 200)
    let back = room.now
    var portion = try await storage.leaveForSilence(since: first, at: back, limit: 1)
    #expect(portion.moved.isEmpty && !portion.isLast)
    #expect(portion.check.uncredited.map(\.lastPhone) == [phones[9]])
    // The look is interrupted. A phone is heard meanwhile.
    room.clock.advance(seconds: 10)
    try await hear(phones[10])
    portion = try await storage.leaveForSilence(since: portion.check, at: room.now, limit: 1)
    #expect(portion.moved.isEmpty && !portion.isLast)
    #expect(portion.check.uncredited.isEmpty)
    #expect(portion.check.time == back)
    portion = try await storage.leaveForSilence(since: portion.check, at: room.now, limit: 1)
    #expect(portion.moved.isEmpty && portion.isLast)
    #expect(portion.check.time == room.now)
    // The usual pause between two looks counts.
    let credited = back.advanced(seconds: -HousekeepingPace.interval)
    #expect(begin < credited)
    for (place, phone) in phones.enumerated() {
      #expect(try await heardAt(phone, in: room) == (place == 10 ? room.now : credited).milliseconds)
    }
  }

  private func heardAt(_ phone: String, in room: StorageFixture) async throws -> Int64? {
    if let storage = room.storage as? PostgreSQLStorage {
      return try await storage.read { try Self.heardAt(phone, in: $0) }
    }
    return try await #require(room.storage as? SQLiteStorage).read { try Self.heardAt(phone, in: $0) }
  }

  private static func heardAt(_ phone: String, in db: some StorageTransaction) throws -> Int64? {
    try db.first("SELECT heard_at FROM phone WHERE id = $1", phone)?.get("heard_at")
  }

  /// Users' sessions whose phones were silent for too long, the longest silent first. No look has found them yet.
  private func silent(_ users: [String]) async throws -> (fixture: Fixture, sessions: [StartedSession]) {
    let fixture = try await Fixture()
    let service = fixture.service
    try await service.core.storage.changeSettings(of: fixture.application.id) { $0.silenceLeaves = true }
    try await service.leaveForSilence(at: service.core.clock())
    var sessions: [StartedSession] = []
    for user in users {
      let phone = try await TestPhone.registered(in: fixture, user: user)
      let session = try await fixture.started(user)
      try await phone.approveOnly()
      #expect(try await fixture.status(of: session).status == .active)
      sessions.append(session)
      fixture.clock.advance(seconds: 1)
    }
    for _ in 0..<2 {
      fixture.clock.advance(seconds: 50)
      try await service.leaveForSilence(at: service.core.clock())
    }
    fixture.clock.advance(seconds: 55)
    return (fixture, sessions)
  }
}
