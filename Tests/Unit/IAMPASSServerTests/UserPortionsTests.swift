import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Many users are added and deleted at once, in portions of one transaction each.
@Suite struct UserPortionsTests {
  /// Texts that a list of another notation could change.
  private static let odd = [
    "a\"b", "\\", "\\u0041", "'; DROP TABLE session; --", "$1", "{a,b}", "5", "null", "true", "", " ", "\n\u{1}",
    "\u{1F511}", "\u{E9}", "e\u{301}", "\u{2028}", "/", "A", "a",
  ]

  @Test(arguments: StorageEngine.allCases) func eachIsAddedByItsOwnBytes(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.storage.addUsers(["5", "\u{E9}"], to: room.application.id)
    let other = try await room.storage.createApplication(named: "other", matchCodes: .off, at: room.now)
    _ = try await room.storage.addUsers(["a"], to: other.id)
    let added = try await room.storage.addUsers(Self.odd, to: room.application.id)
    #expect(added.existing.map(\.bytes) == ["5", "\u{E9}"].map(\.bytes))
    #expect(added.created.map(\.bytes) == Self.odd.map(\.bytes).filter { !added.existing.map(\.bytes).contains($0) })
    var ids: Set<Int64> = []
    for name in Self.odd {
      let found = try #require(await room.storage.user(name, of: room.application.id)?.user)
      #expect(found.name.bytes == name.bytes)
      ids.insert(found.id)
    }
    #expect(ids.count == Self.odd.count)
    _ = try await room.storage.deleteUsers(["e\u{301}", "null", "A"], of: room.application.id, at: room.now)
    var left = 0
    for name in Self.odd where try await room.storage.user(name, of: room.application.id) != nil { left += 1 }
    #expect(left == Self.odd.count - 3)
    #expect(try await room.storage.user("\u{E9}", of: room.application.id) != nil)
    // The ids of those who are gone are not given again.
    _ = try await room.storage.deleteUsers(Self.odd, of: room.application.id, at: room.now)
    _ = try await room.storage.addUsers(Self.odd, to: room.application.id)
    for name in Self.odd {
      let found = try #require(await room.storage.user(name, of: room.application.id)?.user)
      #expect(!ids.contains(found.id))
    }
    #expect(try await room.storage.user("a", of: other.id) != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func manyAreDeletedWithAllThatIsTheirsAndNothingElse(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let names = ["a", "b", "c"]
    var phones: [String: ActingPhone] = [:]
    var sessions: [String: [String]] = [:]
    for name in names {
      let phone = try await room.phone(of: name)
      phones[name] = phone
      for host in ["web-1", "web-2"] {
        sessions[name, default: []].append(try await room.approved(by: phone, for: name, host: host).id)
      }
    }
    let closed = try await room.storage.deleteUsers(["nobody", "a", "b"], of: room.application.id, at: room.now)
    #expect(Set(closed.map(\.id)) == Set(sessions["a", default: []] + sessions["b", default: []]))
    #expect(closed.allSatisfy { $0.lifecycle.ending == .userDeleted })
    for name in names {
      let isGone = name != "c"
      #expect(try await (room.storage.user(name, of: room.application.id) == nil) == isGone)
      #expect(try await room.storage.phone(try #require(phones[name]).id)?.isCutOff == isGone)
      for id in sessions[name, default: []] {
        #expect(try await (room.storage.session(id)?.lifecycle.endedAt != nil) == isGone)
      }
    }
    #expect(try await room.storage.deleteUsers(["a", "b"], of: room.application.id, at: room.now).isEmpty)
  }

  @Test func aPortionHasNoMoreThanItsSizeAndAllAreInOne() {
    let names = (0..<250).map(String.init)
    #expect(Array(UserPortions(names)).map(\.count) == [100, 100, 50])
    #expect(Array(UserPortions(names)).flatMap(\.self) == names)
    #expect(Array(UserPortions([])).isEmpty)
  }

  /// The connection is lost at the second portion, before it is stored or after.
  @Test(arguments: StorageEngine.allCases, LosingStorage.Moment.allCases)
  func whatWasAddedBeforeAFailureStaysAndARepeatAddsTheRest(
    _ engine: StorageEngine, _ moment: LosingStorage.Moment
  ) async throws {
    let names = (0..<250).map { "user \($0)" }
    var number = 0
    while true {
      let fixture = try await Fixture(engine: engine) { LosingStorage($0, losing: number, moment) }
      let losing = try #require(fixture.service.core.storage as? LosingStorage)
      let first = try await fixture.manage("add_users", names)
      let lost = try #require(losing.lost)
      let users = Int(try await losing.inner.stock().users)
      number += 1
      guard lost == "addUsers(_:called:to:)", users >= 100, moment == .before || users > 100 else { continue }
      #expect(first.status == 503)
      #expect(users == (moment == .before ? 100 : 200))
      let repeated = try await fixture.manage("add_users", names)
      #expect(repeated.status == 201)
      let told = try AddUsersReply(parsing: repeated.body)
      #expect(told.existing == Array(names.prefix(users)))
      #expect(told.created == Array(names.dropFirst(users)))
      return
    }
  }

  /// Whoever waits for a session of the first portion does not wait for the others.
  @Test func theEndsOfAPortionAreToldThoughALaterOneFails() async throws {
    let fixture = try await Fixture()
    let service = fixture.service
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    _ = try await TestPhone.registered(in: fixture, user: "bob")
    let storage = try #require(service.core.storage as? SQLiteStorage)
    try await storage.write {
      try $0.execute(
        """
        CREATE TRIGGER refusing BEFORE DELETE ON app_user WHEN OLD.name = 'bob' BEGIN SELECT RAISE(ABORT, 'no'); END
        """)
    }
    async let told = fixture.status(of: session, wait: 60)
    try await untilHeld(service)
    let names = ["alice"] + (0..<UserPortions.size).map { "user \($0)" } + ["bob"]
    #expect(try await fixture.manage("delete_users", names).status == 503)
    // Long before the wait is over.
    for _ in 0..<4_000 where service.board.heldCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(service.board.heldCount == 0)
    #expect(try await told.reason == "USER_DELETED")
    #expect(try await storage.user("bob", of: fixture.application.id) != nil)
    try await storage.write { try $0.execute("DROP TRIGGER refusing") }
    #expect(try await fixture.manage("delete_users", names).status == 200)
    #expect(try await storage.user("bob", of: fixture.application.id) == nil)
  }
}

extension Fixture {
  fileprivate func manage(_ call: String, _ users: [String]) async throws -> ServiceReply {
    await respond(
      try signed("POST", "/management/\(call)/\(application.id)", UsersRequest(users: users).encoded()))
  }
}

extension String {
  /// To Swift, two spellings of one letter are equal.
  fileprivate var bytes: [UInt8] { Array(utf8) }
}
