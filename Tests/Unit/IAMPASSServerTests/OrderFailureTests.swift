import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Orders of signatures that fail, as with a damaged database.
@Suite struct OrderFailureTests {
  @Test func thePausesGrowAndEachOrderHasItsOwn() {
    let failures = OrderFailures()
    var now = UnixTime(seconds: 1_000)
    #expect(failures.isDue("first", at: now))
    for (count, pause) in [(1, 1), (2, 4), (3, 16), (4, 60), (5, 60)] as [(Int, Int64)] {
      #expect(failures.note("first", at: now) == count)
      #expect(!failures.isDue("first", at: now.advanced(seconds: pause - 1)))
      now = now.advanced(seconds: pause)
      #expect(failures.isDue("first", at: now))
    }
    #expect(failures.note("second", at: now) == 1)
    failures.forget("first")
    #expect(failures.note("first", at: now) == 1)
    failures.keep(["second"])
    #expect(failures.isDue("first", at: now) && !failures.isDue("second", at: now))
  }

  /// A phone is asked, and nobody can read any more what it is to sign.
  private func damaged(_ office: SigningFixture) async throws -> String {
    let id = try await office.operators.orderDocument(
      DocumentOrder(.users(application: office.application), by: "ada"), at: office.now)
    try await office.fixture.service.documents.attend()
    #expect(try await office.phone.list().count == 1)
    try await office.fixture.service.storage.write { try $0.execute(sql: "UPDATE document_order SET document = '{'") }
    return id
  }

  @Test func anOrderThatFailsIsTriedAgainAfterPausesAndEnds() async throws {
    let lines = LogLines()
    let office = try await SigningFixture(logger: lines.logger)
    try await office.list("bob")
    let id = try await damaged(office)
    let documents = office.fixture.service.documents
    for pause: Int64 in [1, 4] {
      await #expect(throws: (any Error).self) { try await documents.attend() }
      office.fixture.clock.advance(seconds: pause - 1)
      // Nothing is tried, so nothing fails.
      try await documents.attend()
      office.fixture.clock.advance(seconds: 1)
    }
    #expect(try await office.outcome(of: id) == nil)
    await #expect(throws: (any Error).self) { try await documents.attend() }
    #expect(try await office.outcome(of: id) == .failed)
    #expect(try await office.phone.list().isEmpty, "the phone is not asked any more")
    office.fixture.clock.advance(seconds: 60)
    try await documents.attend()
    let said = lines.all.filter { $0.message == "an administrator's signature was given up after failures" }
    #expect(said.count == 1 && said.first?.metadata["administrator"] == "ada")
  }

  @Test(.timeLimit(.wholeRun)) func onesPhoneIsAskedThoughNoReportOfAComputerCanBeStored() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let service = office.fixture.service
    try await service.storage.write {
      try $0.execute(sql: "CREATE TRIGGER refusing BEFORE INSERT ON host_report BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    service.core.reports.note(HostReport(credential: office.desk.id, software: "1", listVersion: 1))
    let users = DocumentOrder.Subject.users(application: office.application)
    let id = try await office.operators.orderDocument(DocumentOrder(users, by: "ada"), at: office.now)
    let user = try #require(try await office.storage.administrators().first?.user)
    let watch = service.board.watch(.user(user))
    let following = Task { await service.followUserLists() }
    #expect(await watch.wake(milliseconds: 600_000) == .change)
    following.cancel()
    await following.value
    #expect(try await office.operators.documentOrder(id) == .asked)
  }

  @Test func theConsoleSaysSoUntilASignatureIsAskedForAgain() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let visitor = try await ConsoleVisitor.signedIn(to: office.fixture, as: .admin, by: office.phone).0
    let path = "/application/\(office.application)"
    #expect(await !visitor.get(path).text.contains(SigningState.failureText))
    _ = try await damaged(office)
    for _ in 0..<OrderFailures.greatestCount {
      _ = try? await office.fixture.service.documents.attend()
      office.fixture.clock.advance(seconds: 4)
    }
    #expect(await visitor.get(path).text.contains(SigningState.failureText))
    #expect(await visitor.get("").text.contains(SigningState.failureText))
    for page in [path, ""] { #expect(await visitor.get(page).text.contains(StorageTrouble.other.hint)) }
    #expect(await visitor.post(path + "/sign", [:]).status == 303)
    #expect(await !visitor.get(path).text.contains(SigningState.failureText))
    #expect(await !visitor.get("").text.contains(SigningState.failureText))
  }

  @Test(arguments: StorageEngine.allCases)
  func oneThatCannotBeReadIsSetAsideAndToldOnce(_ engine: StorageEngine) async throws {
    let lines = LogLines()
    let office = try await SigningFixture(engine, logger: lines.logger)
    try await office.list("bob")
    let bad = try await order(.administrators(.keep), in: office)
    let good = try await order(.users(application: office.application), in: office)
    try await damage(bad, in: office)
    let open = try await office.storage.openOrders()
    #expect(open.orders.map(\.id) == [good] && open.unreadable == [bad])
    for _ in 0..<2 { try await office.fixture.service.documents.attend() }
    #expect(try await office.operators.documentOrder(good) == .asked)
    #expect(try await office.phone.list().count == 1)
    let said = lines.all.filter { $0.message == "orders of signatures cannot be read, and were set aside" }
    #expect(said.count == 1 && said.first?.metadata["orders"] == bad)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneThatCannotBeReadIsForgottenADayLater(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let bad = try await order(.administrators(.keep), in: office)
    try await damage(bad, in: office)
    let users = DocumentOrder.Subject.users(application: office.application)
    office.fixture.clock.advance(seconds: StoredOrder.greatestAge)
    _ = try await order(users, in: office)
    #expect(try await office.storage.openOrders().unreadable == [bad])
    office.fixture.clock.advance(seconds: 1)
    let good = try await order(users, in: office)
    let open = try await office.storage.openOrders()
    #expect(open.unreadable.isEmpty && open.orders.contains { $0.id == good })
  }

  @Test(arguments: StorageEngine.allCases)
  func oneThatNoServiceTookInTimeRingsNobody(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let id = try await order(.users(application: office.application), in: office)
    office.fixture.clock.advance(seconds: StoredOrder.greatestDelay + 1)
    try await office.fixture.service.documents.attend()
    #expect(try await office.outcome(of: id) == .notAsked)
    #expect(try await office.phone.list().isEmpty)
  }

  private func damage(_ order: String, in office: SigningFixture) async throws {
    let sql: StaticString = "UPDATE document_order SET kind = 'horoscope' WHERE id = $1"
    switch office.storage {
    case let storage as SQLiteStorage: try await storage.write { try $0.execute(sql, order) }
    case let storage as PostgreSQLStorage: try await storage.write { try $0.execute(sql, order) }
    default: throw StorageFixture.Thrown()
    }
  }

  private func order(_ subject: DocumentOrder.Subject, in office: SigningFixture) async throws -> String {
    try await office.operators.orderDocument(DocumentOrder(subject, by: "ada"), at: office.now)
  }

  @Test(arguments: StorageEngine.allCases)
  func theReasonIsKeptUntilASignatureIsAskedForAgain(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    let users = DocumentOrder.Subject.users(application: office.application)
    for subject in [users, .administrators(.keep)] {
      let id = try await order(subject, in: office)
      try await office.storage.endOrder(id, .failed, because: "the disk is full", at: office.now)
    }
    let failed = try await office.operators.signingState().failed
    #expect(failed.reasons == [office.application: "the disk is full"] && failed.setReason == "the disk is full")
    #expect(SigningState.words(failed: true, reason: failed.setReason).hasSuffix(": the disk is full"))
    office.fixture.clock.advance(seconds: 1)
    _ = try await order(users, in: office)
    #expect(try await office.operators.signingState().failed.reasons.isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func theNewestOrderSaysWhetherItFailed(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    let subjects = [DocumentOrder.Subject.users(application: office.application), .administrators(.keep)]
    for subject in subjects {
      let id = try await office.operators.orderDocument(DocumentOrder(subject, by: "ada"), at: office.now)
      try await office.storage.endOrder(id, .failed, at: office.now)
    }
    try await office.list("bob")
    let failed = try await office.operators.signingState().failed
    #expect(failed.applications == [office.application] && failed.isSetConcerned)
    for (subject, isSetConcerned) in zip(subjects, [true, false]) {
      office.fixture.clock.advance(seconds: 1)
      _ = try await office.operators.orderDocument(DocumentOrder(subject, by: "ada"), at: office.now)
      let failed = try await office.operators.signingState().failed
      #expect(failed.applications.isEmpty && failed.isSetConcerned == isSetConcerned)
    }
    #expect(!SigningState.words(failed: true).isEmpty && SigningState.words(failed: false).isEmpty)
  }
}
