import Foundation
import GRDB
import Testing

@testable import IAMPASSServer

/// What a start asks of the last stop, and the check of the whole file while the service works.
@Suite struct WholeCheckTests {
  @Test func aCheckWithoutTimeIsBrokenOff() async throws {
    let fixture = try await Fixture()
    let storage = try sqlite(fixture)
    #expect(try await !storage.checkWhole(within: .zero))
    #expect(try await storage.checkWhole(within: .seconds(600)))
    withExtendedLifetime(fixture) {}
  }

  @Test func aCheckThatIsCancelledIsBrokenOff() async throws {
    let fixture = try await Fixture()
    let storage = try sqlite(fixture)
    let check = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await storage.checkWhole(within: .seconds(600))
    }
    check.cancel()
    #expect(try await !check.value)
    withExtendedLifetime(fixture) {}
  }

  /// Nobody reads the damaged page meanwhile.
  @Test func aDamageThatIsFoundLaterIsSaid() async throws {
    let fixture = try await Fixture()
    let storage = try sqlite(fixture)
    fixture.service.noteFile(isChecked: false)
    #expect(try await fixture.service.unreadiness() == nil)
    #expect(await metrics(fixture).contains("\niampass_database_checked 0\n"))
    try await damage(fixture)
    await fixture.service.checkFile(of: storage)
    #expect(try await fixture.service.unreadiness() == "the database's file is damaged")
    #expect(await metrics(fixture).contains("\niampass_database_damaged 1\n"))
    try await fixture.addUser("alice")
  }

  @Test func aSoundFileIsSaidToBeChecked() async throws {
    let fixture = try await Fixture()
    fixture.service.noteFile(isChecked: false)
    await fixture.service.checkFile(of: try sqlite(fixture))
    #expect(try await fixture.service.unreadiness() == nil)
    let text = await metrics(fixture)
    #expect(text.contains("\niampass_database_checked 1\n") && text.contains("\niampass_database_damaged 0\n"))
  }

  @Test func aMarkCountsOnce() async throws {
    let fixture = try await Fixture()
    try sqlite(fixture).close()
    let stop = CleanStop(folder: fixture.folder)
    #expect(!stop.take())
    stop.leave()
    #expect(stop.take())
    #expect(!stop.take())
  }

  @Test func aMarkDoesNotCountForAFileThatWasChangedOrReplaced() async throws {
    let fixture = try await Fixture()
    try sqlite(fixture).close()
    let stop = CleanStop(folder: fixture.folder)
    let file = fixture.folder + "/iampass.sqlite"
    stop.leave()
    let later = try SQLiteStorage(folder: fixture.folder)
    _ = try await later.createApplication(named: "later", matchCodes: .off, at: later.now())
    try later.close()
    #expect(!stop.take())
    stop.leave()
    // With the time and the size of the one that was there.
    try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
    let date = try #require(FileManager.default.attributesOfItem(atPath: file)[.modificationDate])
    #expect(rename(file + ".copy", file) == 0)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
    #expect(!stop.take())
  }

  private func sqlite(_ fixture: Fixture) throws -> SQLiteStorage {
    try #require(fixture.service.core.storage as? SQLiteStorage)
  }

  private func metrics(_ fixture: Fixture) async -> String { await fixture.service.patientMetrics() }

  /// Overwrites the first page of a table that is empty.
  private func damage(_ fixture: Fixture) async throws {
    let storage = try sqlite(fixture)
    _ = try await storage.pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    let (page, size) = try await storage.read { db in
      (
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'signing_key'"),
        try Int.fetchOne(db, sql: "PRAGMA page_size")
      )
    }
    let (number, bytes) = (try #require(page), try #require(size))
    let file = try #require(FileHandle(forUpdatingAtPath: fixture.folder + "/iampass.sqlite"))
    try file.seek(toOffset: UInt64((number - 1) * bytes))
    try file.write(contentsOf: Data(repeating: 0xff, count: bytes))
    try file.close()
  }
}
