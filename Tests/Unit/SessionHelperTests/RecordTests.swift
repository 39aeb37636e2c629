import Foundation
import HostState
import IAMPASSClient
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// Records that appear, wait and disappear.
@Suite struct RecordTests {
  @Test func theServiceIsToldOfASessionThatItsHostClosed() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    try office.ledger.release(id)
    office.pass(milliseconds: 100)
    #expect(office.service.ended.count == 1)
    #expect(office.records == [])
    #expect(office.logind.terminated == [])
  }

  /// A reload forgets what is in memory. Descriptors have run out, or the folder has a wrong mode.
  @Test func recordsThatCannotBeListedAreListedAgainSoon() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    let folder = office.run.path + "/sessions"
    try #require(chmod(folder, 0o777) == 0)
    office.supervisor.adopt(office.setup, office.service, at: office.now)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 5_000, looking: false)
    #expect(office.logind.terminated == [])
    #expect(office.log.count("records cannot be listed") == 1)
    try #require(chmod(folder, 0o700) == 0)
    office.pass(milliseconds: 3_000, looking: false)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func theEndIsToldUntilTheServiceHasHeardIt() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.service.toEnds = .failed(.serverFailed(status: 503))
    try office.ledger.release(id)
    office.pass(milliseconds: 300_000)
    #expect(office.records == [id])
    #expect((5...12).contains(office.service.ended.count))
    office.service.toEnds = .endTold
    office.pass(milliseconds: 60_000)
    #expect(office.records == [])
  }

  @Test func anEndThatCannotBeToldIsForgottenWhenTheSessionWouldBeOver() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.service.toEnds = .failed(.serverFailed(status: 503))
    try office.ledger.release(id)
    office.pass(milliseconds: 43_200_000 + 120_000)
    #expect(office.records == [])
  }

  @Test func aSudoRecordEndsWithItsCommand() throws {
    let office = try HelperFixture()
    try office.signIn(service: "sudo")
    office.pass(milliseconds: 600_000)
    #expect(office.records.count == 1)
    #expect(office.service.asked == 0)
    let stranger = office.stranger
    let second = try office.signIn(service: "sudo")
    var record = try office.ledger.read(second)
    record = try #require(record.with(process: stranger))
    try office.write(record)
    office.pass(milliseconds: 100)
    #expect(office.service.ended == ["https://localhost/logout/\(second)"])
  }

  @Test func aSignInThatOpenedNoSessionEndsAfterThreeMinutes() throws {
    let office = try HelperFixture()
    try office.signIn { $0.binding = nil }
    office.pass(milliseconds: 170_000)
    #expect(office.records.count == 1)
    office.pass(milliseconds: 60_000)
    #expect(office.records == [])
    #expect(office.service.ended.count == 1)
  }

  @Test func aSignInWhoseProcessesAreGoneEndsAtOnce() throws {
    let office = try HelperFixture()
    let stranger = office.stranger
    let id = try office.signIn { $0.binding = nil }
    let record = try #require(try office.ledger.read(id).with(process: stranger, parent: stranger))
    try office.write(record)
    office.pass(milliseconds: 100)
    #expect(office.records == [])
  }

  @Test func anAdministratorsWordEndsASession() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass()
    try office.ledger.requestLogout(id)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.seat.said == ["1: Signed out: an administrator ended the session."])
    #expect(office.records == [])
  }

  @Test(arguments: ["nonsense", "future", "torn", "link", "owner", "readable", "early", "late", "long"])
  func aDamagedOrForeignFileIsLeftAside(fault: String) throws {
    let office = try HelperFixture()
    let good = try office.signIn(session: "1")
    let bad = try office.signIn("bob", uid: 1_001, session: "2")
    try spoil(office, bad, fault)
    office.says("walkaway", of: bad)
    office.pass(milliseconds: 65_000)
    #expect(office.logind.terminated == [])
    #expect(office.log.count("record \(bad) is left aside") == 1)
    office.says("walkaway", of: good)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// logind did not answer once. Nothing may be decided, and no event will follow.
  @Test func aSessionThatWasUnclearAtFirstIsWatchedWithoutALookAtEverything() throws {
    let office = try HelperFixture()
    try office.signIn()
    office.logind.unclear = true
    office.pass()
    office.logind.unclear = false
    office.pass(milliseconds: 29_000, looking: false)
    #expect(office.service.asked == 0)
    office.pass(milliseconds: 2_000, looking: false)
    #expect(office.service.asked > 0)
  }

  @Test func aRecordThatCouldNotBeReadIsReadAgain() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    let path = try office.ledger.folder() + "/" + id
    #expect(chmod(path, 0o644) == 0)
    office.pass()
    #expect(office.service.asked == 0)
    #expect(chmod(path, 0o600) == 0)
    office.supervisor.checkLeftOut(at: office.now)
    office.pass(milliseconds: 1_000, looking: false)
    #expect(office.service.asked > 0)
  }

  private func spoil(_ office: HelperFixture, _ id: String, _ fault: String) throws {
    let path = try office.ledger.folder() + "/" + id
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let other = [
      "nonsense": "{}", "future": text.replacing("\"version\":1", with: "\"version\":9"),
      "torn": String(text.dropLast(40)),
      "early": text.replacing("\"created\":1000", with: "\"created\":-9223372036854775808"),
      "late": text.replacing("\"created\":1000", with: "\"created\":9223372036854775807"),
      "long": text.replacing("\"duration\":43200", with: "\"duration\":9223372036854775807"),
    ][fault]
    try other?.write(toFile: path, atomically: false, encoding: .utf8)
    switch fault {
    case "owner": #expect(chown(path, 1, 1) == 0)
    case "readable": #expect(chmod(path, 0o644) == 0)
    case "link":
      #expect(rename(path, office.folder.path + "/elsewhere") == 0)
      #expect(symlink(office.folder.path + "/elsewhere", path) == 0)
    default: break
    }
  }

  @Test func afterASleepEverySessionIsAskedAtOnce() throws {
    let office = try HelperFixture()
    for number in 1...50 { try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number)) }
    office.pass(milliseconds: 1_000)
    let before = office.service.asked
    office.logind.tell(.preparesForSleep(false))
    office.pass(milliseconds: 100)
    #expect(office.service.asked - before >= 50)
  }

  @Test func aRecordWhoseEndIsBeingToldCannotBeClaimed() throws {
    let office = try HelperFixture()
    let id = try office.signIn {
      $0.binding = nil
      $0.isClaimed = false
    }
    office.service.toEnds = .failed(.serverFailed(status: 503))
    office.pass(milliseconds: 250_000)
    let record = try office.ledger.read(id)
    #expect(record.isReleased)
    #expect(throws: LedgerError.notYours) {
      try office.ledger.claim(id, user: record.user, service: record.service, by: record.process)
    }
  }

  @Test func aRecordOfTheNextSecondIsNotOver() throws {
    let office = try HelperFixture()
    let id = try office.signIn { $0.binding = nil }
    let facts = RecordStage.Facts(
      isProcessAlive: true, isParentAlive: true, isLeaderAlive: false, sight: .gone, runsOn: false)
    let record = try office.ledger.read(id)
    #expect(RecordStage.of(record, facts, now: record.created - 1) == .waiting)
  }

  @Test func aNewHelperTakesUpWhatIsThere() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.says("walkaway", of: id)
    // This supervisor's first look comes long after the phone left.
    office.pass(milliseconds: 100)
    #expect(office.logind.terminated == ["1"])
  }
}

extension SessionRecord {
  /// The same record with another duration, in seconds.
  func lasting(_ duration: Int64) -> SessionRecord {
    let text = String(decoding: encoded(), as: UTF8.self)
    let other = text.replacing("\"duration\":\(self.duration)", with: "\"duration\":\(duration)")
    return SessionRecord(parsing: Array(other.utf8)) ?? self
  }

  /// The same record with other processes; nil if such a record cannot be written.
  fileprivate func with(process: ProcessIdentity, parent: ProcessIdentity? = nil) -> SessionRecord? {
    var text = String(decoding: encoded(), as: UTF8.self)
    func json(_ identity: ProcessIdentity) -> String {
      "{\"pid\":\(identity.pid),\"start\":\"\(identity.startTime)\"}"
    }
    text = text.replacing("\"process\":\(json(self.process))", with: "\"process\":\(json(process))")
    if let parent { text = text.replacing("\"parent\":\(json(self.parent))", with: "\"parent\":\(json(parent))") }
    return SessionRecord(parsing: Array(text.utf8))
  }
}
