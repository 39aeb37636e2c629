import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Synchronization
import Testing

@testable import IAMPASSServer

@Suite struct DatabaseMoveTests {
  @Test func thereAndBackEveryRowIsWhatItWas() async throws {
    let room = try await MoveFixture()
    try room.fillEmptyTables()
    let before = try MoveFixture.rows(in: room.folder)
    #expect(before.filter { $0.value.isEmpty }.map(\.key) == [])
    let report = try await DatabaseMove.run(from: room.folder, to: room.url)
    #expect(report.counts.reduce(0) { $0 + $1.count } == before.values.reduce(0) { $0 + $1.count } + 1)
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    _ = try await DatabaseMove.run(from: room.url, to: back)
    #expect(try MoveFixture.rows(in: back) == before)
    let storage = try SQLiteStorage(folder: back)
    try storage.checkWhole()
    // Its triggers are those of a new database, too.
    let triggers: @Sendable (Database) throws -> Set<String> = {
      try String.fetchSet($0, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    }
    let new = try DatabaseQueue()
    try Schema.migrator.migrate(new)
    #expect(try await storage.read(triggers) == (try await new.read(triggers)))
  }

  @Test func whoMovesEverythingIsInTheAuditOfBoth() async throws {
    let room = try await MoveFixture()
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    try await AuditActor.$current.withValue(.command(user: 0, login: 1_000)) {
      _ = try await DatabaseMove.run(from: room.folder, to: room.url)
      let last = try #require(await PostgreSQLStorage(url: room.url).auditEntries(after: 0, limit: 10_000).last)
      #expect(last.event == "database moved" && last.actor?.text == "cli:0 login=1000")
      _ = try await DatabaseMove.run(from: room.url, to: back)
    }
    let entries = try await SQLiteStorage(folder: back).auditEntries(after: 0, limit: 10_000)
    #expect(entries.suffix(2).map(\.event) == ["database moved", "database moved"])
    #expect(entries.suffix(2).allSatisfy { $0.actor?.text == "cli:0 login=1000" })
  }

  /// A number that the database gives out after the move must not be one that a row has.
  @Test func theNewDatabaseCountsOnAndAuditsAgain() async throws {
    let room = try await MoveFixture()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    let storage = try PostgreSQLStorage(url: room.url)
    let last = try #require(await storage.auditEntries(after: 0, limit: 10_000).last)
    _ = try await storage.addUsers(["dave"], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1")
    let entries = try await storage.auditEntries(after: last.id, limit: 10)
    #expect(entries.map(\.event) == ["user added"])
    let keys = try await storage.publishedKeys(at: storage.now())
    #expect(keys.map(\.use) == [.signs])
  }

  @Test func whoeverStillWorksOnTheOldDatabaseChangesNothing() async throws {
    let room = try await MoveFixture()
    let running = try room.opened()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    let before = try MoveFixture.rows(in: room.folder)
    let error = await #expect(throws: (any Error).self) {
      try await running.addUsers(["mallory"], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1")
    }
    #expect(running.trouble(behind: try #require(error)) == .moved)
    #expect(try MoveFixture.rows(in: room.folder) == before)
    #expect { try room.opened() } throws: { ($0 as? StorageError)?.code == .databaseMoved }
    // And the way back.
    let servers = try PostgreSQLStorage(url: room.url)
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    _ = try await DatabaseMove.run(from: room.url, to: back)
    let there = await #expect(throws: (any Error).self) {
      try await servers.addUsers(["mallory"], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1")
    }
    #expect(servers.trouble(behind: try #require(there)) == .moved)
    #expect { try PostgreSQLStorage(url: room.url) } throws: { ($0 as? StorageError)?.code == .databaseMoved }
  }

  @Test func whatChangesWhileTheMostIsCopiedFollows() async throws {
    let room = try await MoveFixture()
    let (source, destination) = try room.ends()
    let running = try room.opened()
    let moving = BreakingSource(source) { step in
      guard step == .viewed else { return }
      _ = try blocking { try await running.addUsers(["late"], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1") }
      _ = try blocking {
        try await running.deleteUsers(["carol"], of: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", at: running.now())
      }
    }
    nonisolated(unsafe) let move = DatabaseMove(source: moving, destination: destination, tables: source.tables)
    try await inAThread { _ = try move.run() }
    let storage = try PostgreSQLStorage(url: room.url)
    #expect(try await storage.user("late", of: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1") != nil)
    #expect(try await storage.user("carol", of: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1") == nil)
  }

  @Test func aDestinationThatHasSomethingIsLeftAlone() async throws {
    let room = try await MoveFixture()
    let other = try PostgreSQLStorage(url: room.url)
    _ = try await other.createApplication(named: "there", matchCodes: .off, at: other.now())
    await Self.refuses(.destinationNotEmpty, from: room.folder, to: room.url)
    #expect(try await other.listedApplications().map(\.name) == ["there"])
    await Self.refuses(.sameEngine, from: room.folder, to: room.folder + "-2")
    #expect(try await room.opened().read(MoveMark.stored) == nil)
  }

  /// What a service stored between that look and the emptying would be gone.
  @Test func nobodyWritesToADestinationThatIsFoundEmpty() async throws {
    let room = try await MoveFixture()
    let (source, destination) = try room.ends()
    let looks = Mutex(0)
    let watched = BreakingDestination(destination) { step in
      guard step == .judging else { return }
      let writer = try PostgreSQLConnection(to: PostgreSQLAddress(validating: room.url))
      _ = try writer.ask([PostgreSQLCall("BEGIN")])
      let error = #expect(throws: PostgreSQLError.self) {
        try writer.ask([PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE NOWAIT")])
      }
      #expect(error?.code == .refused(sqlState: "55P03"))
      looks.withLock { $0 += 1 }
    }
    _ = try DatabaseMove(source: source, destination: watched, tables: source.tables).run()
    #expect(looks.withLock { $0 } == 1)
  }

  @Test func aNewerDatabaseIsLeftAlone() async throws {
    let room = try await MoveFixture()
    try await room.opened().write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('later')") }
    await #expect { try await DatabaseMove.run(from: room.folder, to: room.url) } throws: {
      ($0 as? StorageError)?.code == .databaseTooNew
    }
  }

  @Test func oneOfTwoMovesAtOnceWins() async throws {
    for isSame in [true, false] {
      let room = try await MoveFixture()
      let urls = [room.url, isSame ? room.url : try StorageEngine.url(of: MoveFixture.newFolder())]
      let wins = await withTaskGroup(of: String?.self) { group in
        for url in urls {
          group.addTask { (try? await DatabaseMove.run(from: room.folder, to: url)).map { _ in url } }
        }
        var wins: [String] = []
        for await url in group { if let url { wins.append(url) } }
        return wins
      }
      // The second one to the same place may come late enough to see that all is done.
      #expect(isSame ? !wins.isEmpty : wins.count == 1)
      for url in Set(urls) {
        let isThere = try? await PostgreSQLStorage(url: url).listedApplications().count
        #expect(isThere == (wins.contains(url) ? 2 : 0))
      }
    }
  }

  /// A process that is killed does nothing after its last step, as one does that throws there.
  @Test(arguments: MoveStep.allCases) func aMoveThatWasBrokenOffIsCompletedByASecondOne(_ step: MoveStep) async throws {
    let room = try await MoveFixture()
    let before = try MoveFixture.rows(in: room.folder)
    do {
      let (source, destination) = try room.ends()
      let breaks: @Sendable (MoveStep) throws -> Void = { if $0 == step { throw Broken() } }
      let move = DatabaseMove(
        source: BreakingSource(source, breaks), destination: BreakingDestination(destination, breaks),
        tables: source.tables)
      #expect(throws: (any Error).self) { try move.run() }
    }
    // Never do both take changes.
    let old = try? room.opened()
    let new = try? PostgreSQLStorage(url: room.url)
    let isNewFilled = try await new?.listedApplications().isEmpty == false
    #expect(old == nil || !isNewFilled)
    try old?.close()
    new?.close()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    _ = try await DatabaseMove.run(from: room.url, to: back)
    #expect(try MoveFixture.rows(in: back) == before)
  }

  /// The service goes on in the old database when the new one is filled and closed, and is sealed there.
  @Test func aMoveThatWasBrokenOffBeforeASealIsCompletedByASecondOne() async throws {
    let room = try await MoveFixture()
    let (source, destination) = try room.ends()
    let broken = BreakingDestination(destination) { if $0 == .committed { throw Broken() } }
    #expect(throws: Broken.self) {
      try DatabaseMove(source: source, destination: broken, tables: source.tables).run()
    }
    // Another service's database does not take its place, sealed or not.
    let other = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: other) }
    let keys = try SealKeyTests.newKeys()
    for isSealed in [false, true] {
      var storage = try SQLiteStorage(folder: other)
      storage.sealKeys = keys
      _ = try await storage.createApplication(named: "other \(isSealed)", matchCodes: .off, at: storage.now())
      if isSealed { _ = try await storage.sealSecrets(at: storage.now()) }
      try storage.close()
      await Self.refuses(.destinationArriving, from: other, to: room.url)
    }
    var storage = try room.opened()
    storage.sealKeys = keys
    _ = try await storage.sealSecrets(at: storage.now())
    _ = try await storage.createApplication(named: "later", matchCodes: .off, at: storage.now())
    try storage.close()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    let moved = try PostgreSQLStorage(existing: room.url)
    #expect(try await moved.listedApplications().map(\.name).contains("later"))
    #expect(try await moved.isSealed())
    moved.close()
  }

  /// A move is broken off when the destination is filled and closed, and the source's tables change before the next one.
  @Test(arguments: ["ALTER TABLE user ADD COLUMN later TEXT", "CREATE TABLE later (id TEXT)"])
  func whatAnUpdateAddedInBetweenIsNotLostInSilence(_ change: String) async throws {
    let room = try await MoveFixture()
    let (source, destination) = try room.ends()
    let broken = BreakingDestination(destination) { if $0 == .committed { throw Broken() } }
    #expect(throws: Broken.self) {
      try DatabaseMove(source: source, destination: broken, tables: source.tables).run()
    }
    try await room.opened().write { try $0.execute(sql: change) }
    await Self.refuses(.formsDiffer, from: room.folder, to: room.url)
    #expect(try await room.opened().read(MoveMark.stored) == nil)
  }

  @Test func anUpdateWhileTheMostIsCopiedRefusesTheMove() async throws {
    let room = try await MoveFixture()
    let (source, destination) = try room.ends()
    let running = try room.opened()
    let moving = BreakingSource(source) { step in
      guard step == .held else { return }
      try source.storage.pool.unsafeReentrantWrite { try $0.execute(sql: "CREATE TABLE later (id TEXT)") }
    }
    #expect { try DatabaseMove(source: moving, destination: destination, tables: source.tables).run() } throws: {
      ($0 as? MoveRefusal)?.code == .formsDiffer
    }
    _ = try await running.addUsers(["dave"], to: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1")
  }

  /// And the way back: the directory is of an older form than the database.
  @Test func aDirectoryOfAnOlderFormIsLeftAlone() async throws {
    let room = try await MoveFixture()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    try await SQLiteStorage(folder: back).write { try $0.execute(sql: "DROP TABLE training") }
    await Self.refuses(.formsDiffer, from: room.url, to: back)
  }

  private static func refuses(_ code: MoveRefusal.Code, from: String, to: String) async {
    await #expect { try await DatabaseMove.run(from: from, to: to) } throws: { ($0 as? MoveRefusal)?.code == code }
  }
}

/// What an operation returns, in a thread that may wait.
private func blocking<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
  let done = DispatchSemaphore(value: 0)
  let box = Mutex<Result<Value, any Error>?>(nil)
  Task.detached {
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    box.withLock { $0 = result }
    done.signal()
  }
  done.wait()
  return try box.withLock { $0 }!.get()
}
