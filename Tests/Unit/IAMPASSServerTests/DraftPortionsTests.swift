import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// A list that is to be signed is read beside the writers, and stored in portions.
@Suite struct DraftPortionsTests {
  /// An order for the office's list, which no service has taken yet.
  private func order(_ office: SigningFixture) async throws -> String {
    try await office.operators.orderDocument(
      DocumentOrder(.users(application: office.application), by: "ada"), at: office.now)
  }

  private func lines(_ office: SigningFixture, of order: String) async throws -> [String] {
    try await office.storage.seeSigning { try $0.draft(of: order, after: "", limit: 10_000) }.map(\.name)
  }

  private func list(_ name: String, _ storage: any ServiceStorage, groups: [String]? = nil) async throws {
    _ = try await storage.listUser(UserListOrder(application: "shop", name: name, groups: groups))
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverIsListedWhileTheListIsReadIsInIt(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let id = try await order(office)
    let inner = office.storage
    let storage = InterruptedSigning(inner) { if $0 == 1 { try await list("carol", inner) } }
    let draft = try #require(try await storage.draft(id, at: office.now))
    guard case .users(let head) = draft.document else { throw StorageFixture.NotStarted() }
    #expect(head.list(of: "").count == 2 && head.number == 1)
    #expect(try await lines(office, of: id) == ["bob", "carol"])
    #expect(storage.reads == 2)
  }

  /// A list's version stays the same if a phone changes.
  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatIsRegisteredWhileTheListIsReadIsInIt(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let id = try await order(office)
    let (fixture, inner, now) = (office.fixture, office.storage, office.now)
    let storage = InterruptedSigning(inner) { read in
      guard read == 1 else { return }
      let code = try #require(try await inner.invitation(ofListed: "bob", of: "shop", isFurther: false, at: now))
      #expect(try await TestPhone.register(in: fixture, code: code).status == 200)
    }
    _ = try #require(try await storage.draft(id, at: now))
    let line = try #require(try await inner.seeSigning { try $0.draft(of: id, after: "", limit: 2) }.first)
    #expect(try UserListLine(try JSON.stored(line.text)).phones.count == 1)
    #expect(storage.reads == 2)
  }

  @Test func usersOfAnotherApplicationDisturbNothing() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let id = try await order(office)
    let inner = office.storage
    _ = try await office.operators.createApplication(named: "other", matchCodes: .off, at: office.now)
    let storage = InterruptedSigning(inner) { _ in
      _ = try await inner.listUser(UserListOrder(application: "other", name: "eve", groups: nil))
    }
    #expect(try await storage.draft(id, at: office.now) != nil)
    #expect(storage.reads == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aListThatChangesAllTheTimeIsGivenUp(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let id = try await order(office)
    let inner = office.storage
    let storage = InterruptedSigning(inner) { try await list("user\($0)", inner) }
    #expect(try await storage.draft(id, at: office.now) == nil)
    #expect(storage.reads == DocumentDraft.greatestTries)
    #expect(try await office.outcome(of: id) == .changing)
    #expect(try await lines(office, of: id).isEmpty)
    #expect(try await office.sign() == .signed)
  }

  @Test(arguments: StorageEngine.allCases)
  func manyLinesAreStoredInPortions(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    let names = (1...2 * DocumentDraft.portion + 1).map { "user\(10_000 + $0)" }
    for name in names { try await list(name, office.storage) }
    let id = try await order(office)
    let storage = InterruptedSigning(office.storage) { _ in }
    #expect(try await storage.draft(id, at: office.now) != nil)
    // The order is taken, two portions, and the rest with the document.
    #expect(storage.changes == 4)
    #expect(try await lines(office, of: id) == names)
  }

  /// Another service has begun it again meanwhile.
  @Test func anOrderThatIsNoLongerOursIsLeftAlone() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let id = try await order(office)
    let (inner, now) = (office.storage, office.now)
    let storage = InterruptedSigning(inner) { _ in
      _ = try await inner.releaseOvertaken(id)
      _ = try await inner.draft(id, at: now.advanced(seconds: 1))
    }
    #expect(try await storage.draft(id, at: now) == nil)
    #expect(try await office.outcome(of: id) == nil)
    #expect(try await lines(office, of: id) == ["bob"])
  }

  /// A failure leaves the order to be taken again.
  @Test func anOrderWhoseListCannotBeReadIsGivenBack() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let id = try await order(office)
    let storage = InterruptedSigning(office.storage) { _ in throw DamagedRow(column: "line") }
    await #expect(throws: DamagedRow.self) { try await storage.draft(id, at: office.now) }
    #expect(try await office.storage.draft(id, at: office.now) != nil)
  }

  /// Lines that stay the same are not written again.
  @Test(arguments: StorageEngine.allCases)
  func aSignatureStoresWhatDiffers(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob", "carol", "eve")
    #expect(try await office.sign() == .signed)
    try await list("carol", office.storage, groups: ["lab"])
    try await office.storage.removeListedUser("eve", of: "shop", at: office.now)
    try await office.list("dora")
    #expect(try await office.sign() == .signed)
    let application = office.application
    let (former, now, changes) = try await office.storage.seeSigning { rows in
      (
        try rows.lines(of: application, at: 1, group: "", after: "", limit: 10),
        try rows.lines(of: application, at: 2, group: "", after: "", limit: 10),
        try rows.changes(of: application, from: 1, to: 2, after: "", limit: 10)
      )
    }
    #expect(former.map(\.name) == ["bob", "carol", "eve"])
    #expect(now.map(\.name) == ["bob", "carol", "dora"])
    #expect(changes.map(\.name) == ["carol", "dora", "eve"])
    #expect(changes.map { $0.line == nil } == [false, false, true])
  }
}

/// Does something after each view that was read, as another server would.
private final class InterruptedSigning: SigningRowsStore {
  private let inner: any ServiceStorage
  private let afterRead: @Sendable (_ read: Int) async throws -> Void
  private let counts = Mutex((reads: 0, changes: 0))

  init(_ inner: any ServiceStorage, afterRead: @escaping @Sendable (_ read: Int) async throws -> Void) {
    self.inner = inner
    self.afterRead = afterRead
  }

  var reads: Int { counts.withLock { $0.reads } }
  var changes: Int { counts.withLock { $0.changes } }

  func seeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value {
    let value = try await inner.seeSigning(work)
    let read = counts.withLock { counts in
      counts.reads += 1
      return counts.reads
    }
    try await afterRead(read)
    return value
  }

  func changeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value {
    counts.withLock { $0.changes += 1 }
    return try await inner.changeSigning(work)
  }
}
