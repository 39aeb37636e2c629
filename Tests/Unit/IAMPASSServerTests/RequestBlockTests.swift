import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What is held back from a user's phone, and how somebody lifts that.
@Suite struct RequestBlockTests {
  private struct BlockFixture {
    let room: StorageFixture
    let alice: ActingPhone

    init(_ engine: StorageEngine) async throws {
      room = try await StorageFixture(engine)
      alice = try await room.phone()
    }

    func denied(times: Int, by phone: ActingPhone? = nil, for user: String = "alice") async throws {
      for _ in 0..<times {
        let session = try await room.started(room.ask(for: user))
        _ = try await room.answer(session.id, .deny, by: phone ?? alice).get()
        room.clock.advance(seconds: 1)
      }
    }

    func refusal(for user: String = "alice") async throws -> Reason? {
      guard case .not(.reason(let reason)) = try await room.start(room.ask(for: user)).outcome else { return nil }
      return reason
    }

    func lift(_ user: String = "alice", of application: String = "shop") async throws -> RequestBlocks {
      // A denial of the same millisecond would be lifted, too.
      defer { room.clock.advance(seconds: 1) }
      return try await #require(room.storage as? any OperatorStore).liftBlocks(of: user, of: application, at: room.now)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aLiftedBlockLetsTheNextRequestThrough(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    try await scene.denied(times: 3)
    #expect(try await scene.refusal() == .tooManyDenials)
    #expect(try await scene.lift() == RequestBlocks(denials: 3, reportedSources: 0))
    try await scene.denied(times: 2)
    #expect(try await scene.refusal() == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func denialsAfterwardsCountAgain(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    try await scene.denied(times: 3)
    _ = try await scene.lift()
    try await scene.denied(times: 3)
    #expect(try await scene.refusal() == .tooManyDenials)
  }

  @Test(arguments: StorageEngine.allCases)
  func aReportedSourceIsHeardAgain(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    let session = try await scene.room.started(scene.room.ask())
    _ = try await scene.room.answer(session.id, .notMe, by: scene.alice).get()
    #expect(try await scene.refusal() == .sourceBlocked)
    #expect(try await scene.lift() == RequestBlocks(denials: 1, reportedSources: 1))
    #expect(try await scene.refusal() == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func anotherUsersBlockStays(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    let bob = try await scene.room.phone(of: "bob")
    try await scene.denied(times: 3)
    try await scene.denied(times: 3, by: bob, for: "bob")
    _ = try await scene.lift("bob")
    #expect(try await scene.refusal(for: "bob") == nil)
    #expect(try await scene.refusal() == .tooManyDenials)
  }

  @Test(arguments: StorageEngine.allCases)
  func theAuditNamesTheUserAndOnlyWhatWasLifted(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    #expect(try await scene.lift().isEmpty)
    #expect(try await !scene.room.events().contains("block lifted"))
    try await scene.denied(times: 1)
    _ = try await scene.lift()
    let entries = try await scene.room.storage.auditEntries(after: 0, limit: 1_000)
    let lifted = try #require(entries.first { $0.event == "block lifted" })
    #expect(lifted["user"] == "\(scene.alice.user)" && lifted["application"] == "shop" && lifted["phone"] == "Alice")
    #expect(lifted["administrator"] == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func anAdministratorIsNamedAndAnotherApplicationsUserIsNotThere(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    let room = scene.room
    try await scene.denied(times: 3)
    let other = try await room.storage.createApplication(named: "other", matchCodes: .off, at: room.now)
    #expect(try await room.storage.liftBlocks(of: scene.alice.user, of: other.id, at: room.now) == nil)
    #expect(try await scene.refusal() == .tooManyDenials)
    let act = ConsoleAct(administrator: "ada", approval: "s1", seen: nil)
    let lifted = try await ConsoleAct.$current.withValue(act) {
      try await room.storage.liftBlocks(of: scene.alice.user, of: room.application.id, at: room.now)
    }
    #expect(lifted?.denials == 3)
    #expect(try await scene.refusal() == nil)
    let entries = try await room.storage.auditEntries(after: 0, limit: 1_000)
    #expect(entries.filter { $0.event == "block lifted" }.map { $0["administrator"] } == ["ada"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aUserIsFoundByTheNameOnTheList(_ engine: StorageEngine) async throws {
    let scene = try await BlockFixture(engine)
    _ = try await scene.room.storage.listUser(UserListOrder(application: "shop", name: "ann", groups: nil))
    #expect(try await scene.lift("ann").isEmpty)
    await #expect(throws: UserListRefusal.unknownUser) { try await scene.lift("nobody") }
    await #expect(throws: UserListRefusal.unknownApplication) { try await scene.lift(of: "nothing") }
  }
}
