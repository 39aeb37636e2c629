import Testing

@testable import IAMPASSServer

/// All computers report at once, as after a restart of the service. Their reports are stored in portions of one
/// transaction each.
@Suite struct HostReportTests {
  /// Which computers' reports the database has, by the ids of their credentials.
  private func stored(in room: StorageFixture) async throws -> Set<String> {
    Set(try await room.storage.computers(ComputerSearch(), at: room.now).compactMap { $0.report?.credential })
  }

  /// The connection is lost at the second portion, before it is stored or after.
  @Test(arguments: StorageEngine.allCases, LosingStorage.Moment.allCases)
  func whatAFailedPortionDidNotStoreIsStoredTheNextTime(
    _ engine: StorageEngine, _ moment: LosingStorage.Moment
  ) async throws {
    let room = try await StorageFixture(engine)
    var ids: [String] = []
    for name in ["desk", "till"] {
      let computer = try await room.storage.createHostCredential(
        named: name, host: name, of: room.application.id, at: room.now)
      ids.append(computer.id)
    }
    ids.sort()
    let (first, last) = (ids[0], ids[1])
    let losing = LosingStorage(room.storage, losing: 1, moment)
    let reports = HostReports()
    // Those between the two have no credential any more.
    for id in [first, last] + (1...150).map({ "\(first)-\($0)" }) {
      reports.note(HostReport(credential: id, software: "1", listVersion: 1))
    }
    await #expect(throws: LosingStorage.ConnectionLost.self) { try await reports.store(in: losing) }
    let kept: Set<String> = moment == .before ? [first] : [first, last]
    #expect(try await stored(in: room) == kept)
    try await reports.store(in: losing)
    #expect(try await stored(in: room) == [first, last])
    // The first portion is not stored again.
    #expect(losing.calls == 3)
    try await reports.store(in: losing)
    #expect(losing.calls == 3)
  }

  @Test func aPortionHasNoMoreThanItsSizeAndAllAreInOne() async throws {
    let storage = Portions()
    let reports = HostReports()
    let ids = (100..<350).map(String.init)
    for id in ids { reports.note(HostReport(credential: id, software: "1", listVersion: 1)) }
    try await reports.store(in: storage)
    let portions = await storage.portions
    #expect(portions.map(\.count) == [100, 100, 50])
    #expect(portions.flatMap(\.self).map(\.credential) == ids)
  }

  @Test func aReportThatTheDatabaseHasIsNotWrittenAgain() async throws {
    let room = try await StorageFixture(.sqlite)
    let computer = try await room.storage.createHostCredential(
      named: "desk", host: "desk", of: room.application.id, at: room.now)
    func record(_ software: String, _ epoch: Int64?) async throws {
      let report = HostReport(credential: computer.id, software: software, listVersion: 1, listEpoch: epoch)
      try await room.storage.record([report])
    }
    try await record("1", nil)
    let storage = try #require(room.storage as? SQLiteStorage)
    try await storage.write {
      try $0.execute("CREATE TRIGGER written BEFORE UPDATE ON host_report BEGIN SELECT RAISE(ABORT, 'written'); END")
    }
    try await record("1", nil)
    await #expect(throws: (any Error).self) { try await record("1", 1) }
    await #expect(throws: (any Error).self) { try await record("2", nil) }
  }

  @Test func whatWasStoredTakesBoundedMemory() async throws {
    let storage = Portions()
    let reports = HostReports(remembering: 20)
    func report(_ number: Int) async throws {
      reports.note(HostReport(credential: String(number), software: "1", listVersion: 1))
      try await reports.store(in: storage)
    }
    for number in 1...100 { try await report(number) }
    #expect(reports.rememberedCount <= 20)
    #expect(await storage.portions.count == 100)
    // The newest is remembered; one that was dropped is stored again.
    try await report(100)
    #expect(await storage.portions.count == 100)
    try await report(1)
    #expect(await storage.portions.count == 101)
  }

  @Test func aNewerReportTakesThePlaceOfOneThatFailed() async throws {
    let reports = HostReports()
    reports.note(HostReport(credential: "desk", software: "1", listVersion: 1))
    let failing = Portions {
      reports.note(HostReport(credential: "desk", software: "1", listVersion: 2))
      throw LosingStorage.ConnectionLost()
    }
    await #expect(throws: LosingStorage.ConnectionLost.self) { try await reports.store(in: failing) }
    let storage = Portions()
    try await reports.store(in: storage)
    #expect(await storage.portions == [[HostReport(credential: "desk", software: "1", listVersion: 2)]])
  }
}

/// Keeps the reports of each step.
private actor Portions: HostReportStore {
  private(set) var portions: [[HostReport]] = []
  private let step: @Sendable () throws -> Void

  /// - Parameter step: what happens before a step is done.
  init(_ step: @escaping @Sendable () throws -> Void = {}) { self.step = step }

  func record(_ reports: [HostReport]) async throws {
    try step()
    portions.append(reports)
  }
}
