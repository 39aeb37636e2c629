import CHost
import Dispatch
import Glibc
import IAMPASSClient
import IAMPASSProtocol
import Synchronization
import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

/// What concurrent or stopped processes do to each other's records.
@Suite struct LedgerRaceTests {
  private let alice = UnixUsername(validating: "alice")!

  private func record(_ ledger: SessionLedger) throws -> SessionRecord {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .client, dialect: .iampass, signedReplies: false)
    let remote = try RemoteSession(
      statusURL: "/s", logoutURL: "/l", token: Secret("t"), secret: Secret("s"), name: "n", settings: settings)
    let record = SessionRecord(
      id: try #require(Digest.randomIdentifier()), user: alice, uid: 1_000, service: "login", remoteHost: nil, tty: nil,
      session: remote, process: try #require(ProcessIdentity.current()), parent: try #require(ProcessIdentity.parent()),
      created: 1, duration: 60, opensSession: true)
    try AtomicFile.write(record.encoded(), to: ledger.folder() + "/" + record.id, mode: 0o600)
    return record
  }

  private func ledger(_ folder: TemporaryFolder) -> SessionLedger {
    SessionLedger(run: RunFolder(path: folder.path + "/run"))
  }

  private func names(_ ledger: SessionLedger) throws -> Set<String> {
    try Set(FolderListing.names(in: ledger.folder())).subtracting([".", ".."])
  }

  /// Any user can run and stop su.
  @Test func whoeverHoldsTheFoldersLockKeepsNobodyOut() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let record = try record(ledger)
    let other = try self.record(ledger)
    let holder = iampass_open(try ledger.folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    defer { close(holder) }
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
    #expect(try ledger.claim(record.id, user: alice, service: "login", by: record.process).isClaimed)
    try ledger.bind(record.id, to: SessionRecord.Binding(logindSession: "1", leader: record.process))
    try ledger.requestLogout(record.id)
    try ledger.release(record.id)
    #expect(try ledger.retire(other) == nil)
    try ledger.remove(record.id)
    try ledger.remove(other.id)
    #expect(try names(ledger).isEmpty)
  }

  @Test func whoeverLooksForTheHelperKeepsNoneFromAnnouncingItself() throws {
    let folder = try TemporaryFolder()
    let run = RunFolder(path: folder.path + "/run")
    let presence = HelperPresence(run: run)
    #expect(try presence.claim())
    #expect(!presence.isThere)
    let holder = iampass_open(run.path + "/helper.watching", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(holder) }
    #expect(flock(holder, LOCK_SH | LOCK_NB) == 0)
    #expect(try presence.announce())
    #expect(presence.isThere)
  }

  @Test func aSecondHelperIsRefusedAndIsToldAtOnce() throws {
    let folder = try TemporaryFolder()
    let presence = HelperPresence(run: RunFolder(path: folder.path + "/run"))
    #expect(try presence.claim())
    #expect(try !presence.claim())
  }

  @Test func aRecordIsClaimedOrGivenUpAndNeverBoth() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let user = alice
    for _ in 0..<50 {
      let record = try record(ledger)
      let won = Mutex<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 8) { number in
        if number % 2 == 0 {
          guard (try? ledger.claim(record.id, user: user, service: "login", by: record.process)) != nil else { return }
          won.withLock { $0.append("claimed") }
        } else {
          guard let isGivenUp = try? ledger.retire(record) == nil, isGivenUp else { return }
          won.withLock { $0.append("given up") }
        }
      }
      let winners = won.withLock { $0 }
      #expect(winners.count == 1)
      #expect(try ledger.read(record.id).isReleased == (winners == ["given up"]))
    }
  }

  @Test func aRecordThatWasGivenUpIsNotBound() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let id = try record(ledger).id
    let record = try ledger.claim(id, user: alice, service: "login", by: try #require(ProcessIdentity.current()))
    #expect(try ledger.retire(record) == nil)
    #expect(throws: LedgerError.notYours) {
      try ledger.bind(id, to: SessionRecord.Binding(logindSession: "1", leader: record.process))
    }
  }

  @Test func aRecordThatWasBoundMeanwhileIsNotGivenUp() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let known = try record(ledger)
    _ = try ledger.claim(known.id, user: alice, service: "login", by: known.process)
    try ledger.bind(known.id, to: SessionRecord.Binding(logindSession: "1", leader: known.process))
    let changed = try #require(try ledger.retire(known))
    #expect(changed.binding?.logindSession == "1")
    #expect(!changed.isReleased)
  }

  @Test func nothingBecomesOfARecordThatIsGone() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let record = try record(ledger)
    try ledger.remove(record.id)
    #expect(throws: LedgerError.self) { try ledger.release(record.id) }
    #expect(throws: LedgerError.self) { try ledger.requestLogout(record.id) }
    #expect(throws: LedgerError.self) {
      try ledger.claim(record.id, user: alice, service: "login", by: record.process)
    }
    #expect(try names(ledger).isEmpty)
  }

  @Test func whatIsSaidOfARecordThatIsGoneIsRemoved() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let record = try record(ledger)
    try ledger.release(record.id)
    let other = try self.record(ledger)
    try ledger.release(other.id)
    // The previous version's module knows only the record.
    #expect(unlink(try ledger.folder() + "/" + record.id) == 0)
    ledger.removeUnfinished()
    #expect(try names(ledger) == [other.id, other.id + ".released"])
  }

  @Test(arguments: ["claim", "binding", "released", "condemned"])
  func aFactThatOthersCouldHaveWrittenLeavesTheRecordAside(_ fact: String) throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let record = try record(ledger)
    #expect(chmod(try folder.write("run/sessions/\(record.id).\(fact)", "{}"), 0o666) == 0)
    #expect(throws: LedgerError.self) { try ledger.read(record.id) }
  }

  @Test func aDamagedBindingLeavesTheRecordAside() throws {
    let folder = try TemporaryFolder()
    let ledger = ledger(folder)
    let record = try record(ledger)
    #expect(chmod(try folder.write("run/sessions/\(record.id).binding", "{}"), 0o600) == 0)
    #expect(throws: LedgerError.notARecord) { try ledger.read(record.id) }
  }

  @Test(arguments: [".claim", ".released", ""])
  func aFileOfARecordIsItsNews(_ ending: String) {
    let id = "0123456789abcdef0123456789abcdef"
    #expect(SessionLedger.recordID(ofFileNamed: id + ending) == id)
    #expect(SessionLedger.recordID(ofFileNamed: id + ending + ".new") == nil)
    #expect(SessionLedger.recordID(ofFileNamed: "x" + ending) == nil)
  }

  /// Another source's count, which its user holds by a stopped su.
  @Test func aHeldCountKeepsOnlyItsOwnSourceOut() throws {
    let folder = try TemporaryFolder()
    let limiter = AttemptLimiter(
      run: RunFolder(path: folder.path + "/run"), greatestCount: 5, window: 600, now: { 1_000 })
    try limiter.admit(alice, from: .caller(uid: 1_001))
    let path = folder.path + "/run/attempts/local/"
    let name = try #require(try BoundedFolder.names(in: path).first)
    let holder = iampass_open(path + name, O_RDWR | O_CLOEXEC, 0)
    defer { close(holder) }
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
    #expect(throws: AttemptRefusal.self) { try limiter.admit(alice, from: .caller(uid: 1_001)) }
    try limiter.admit(alice, from: .own)
    try limiter.admit(alice, from: .program(service: "login"))
    try limiter.admit(alice, from: .remoteHost("192.0.2.1"))
  }
}
