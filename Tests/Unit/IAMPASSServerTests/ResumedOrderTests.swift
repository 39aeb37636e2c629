import IAMPASSProtocol
import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// The service is stopped while it asks an administrator's phone for a signature, and is started again.
@Suite struct ResumedOrderTests {
  private func ordered(_ engine: StorageEngine) async throws -> (office: SigningFixture, order: String) {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let order = DocumentOrder(.users(application: office.application), by: "ada")
    return (office, try await office.operators.orderDocument(order, at: office.now))
  }

  private func attend(_ office: SigningFixture) async throws { try await office.fixture.service.documents.attend() }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWasAskedIsNotAskedAgain(_ engine: StorageEngine) async throws {
    let (office, id) = try await ordered(engine)
    try await attend(office)
    let asked = try await office.phone.list().map(\.session)
    #expect(asked.count == 1)
    // There was no time to note it.
    try await office.storage.changeSigning { rows in
      guard var order = try rows.order(id) else { throw StorageFixture.Thrown() }
      order.session = nil
      try rows.change(order)
    }
    office.fixture.clock.advance(seconds: StoredOrder.resumption)
    for _ in 0..<2 { try await attend(office) }
    #expect(try await office.phone.list().map(\.session) == asked)
    try await office.approve()
    #expect(try await office.outcome(of: id) == .signed)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWasNotAskedIsAskedOnce(_ engine: StorageEngine) async throws {
    let (office, id) = try await ordered(engine)
    // The document is stored, and then nothing happens.
    #expect(try await office.storage.draft(id, at: office.now) != nil)
    try await attend(office)
    #expect(try await office.phone.list().isEmpty, "the service that made the document may be about to ask")
    office.fixture.clock.advance(seconds: StoredOrder.resumption)
    for _ in 0..<2 { try await attend(office) }
    #expect(try await office.phone.list().count == 1)
    try await office.approve()
    #expect(try await office.outcome(of: id) == .signed)
  }

  /// Whoever gave the order gives up just as the phone is asked.
  @Test(arguments: StorageEngine.allCases)
  func anOrderThatIsWithdrawnMeanwhileLeavesNoRequest(_ engine: StorageEngine) async throws {
    let (office, id) = try await ordered(engine)
    let (operators, now, isStarted) = (office.operators, office.now, StartFlag())
    let storage = LosingStorage(office.storage, losing: -1, .before) { name in
      if name.hasPrefix("start(") {
        isStarted.value.store(true, ordering: .sequentiallyConsistent)
      } else if isStarted.value.load(ordering: .sequentiallyConsistent) {
        try? await operators.withdrawDocument(id, at: now)
      }
    }
    let service = SignInService(
      on: storage, publicURL: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await service.documents.attend()
    #expect(try await office.outcome(of: id) == .withdrawn)
    #expect(try await office.phone.list().isEmpty)
    #expect(try await office.order() == .asked, "the next order does not wait for it")
  }

  private final class StartFlag: Sendable { let value = Atomic(false) }

  @Test func aPhoneThatSignsNoMoreIsNotAsked() async throws {
    let (office, id) = try await ordered(.sqlite)
    #expect(try await office.storage.draft(id, at: office.now) != nil)
    let stored = try #require(try await office.storage.phone(office.phone.device))
    let (user, now) = (try #require(stored.user), office.now)
    _ = try await office.fixture.service.storage.write { try Phone.cutOff(user: user, at: now, in: $0) }
    office.fixture.clock.advance(seconds: StoredOrder.resumption)
    try await attend(office)
    #expect(try await office.outcome(of: id) == .notSigner)
  }
}
