import Dispatch
import Glibc
import IAMPASSClient
import IAMPASSProtocol
import Synchronization
import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

@Suite struct SessionLedgerTests {
  private let alice = UnixUsername(validating: "alice")!

  /// A record of this process, or of two others.
  private func record(
    _ folder: TemporaryFolder, id: String = "0123456789abcdef0123456789abcdef", service: String = "login",
    process: ProcessIdentity? = ProcessIdentity.current(), parent: ProcessIdentity? = ProcessIdentity.parent()
  ) throws -> (SessionLedger, SessionRecord) {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .client, dialect: .iampass, signedReplies: false)
    let remote = try RemoteSession(
      statusURL: "/s", logoutURL: "/l", token: Secret("t"), secret: Secret("s"), name: "n", settings: settings)
    let record = SessionRecord(
      id: id, user: alice, uid: 1_000, service: service, remoteHost: "192.0.2.1",
      tty: nil, session: remote, process: try #require(process), parent: try #require(parent), created: 1, duration: 60,
      opensSession: ServiceTable.opensSession(service))
    let run = RunFolder(path: folder.path + "/run")
    let path = try run.folder("sessions") + "/" + record.id
    try AtomicFile.write(record.encoded(), to: path, mode: 0o600)
    return (SessionLedger(run: run), record)
  }

  @Test func whatAKilledWriterLeftIsRemovedAndWhatOneWritesNowIsNot() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let old = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.new"
    let fresh = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.new"
    for name in [old, fresh] { try AtomicFile.write([1], to: ledger.folder() + "/" + name, mode: 0o600) }
    let before = timeval(tv_sec: time(nil) - 120, tv_usec: 0)
    #expect(utimes(try ledger.folder() + "/" + old, [before, before]) == 0)
    ledger.removeUnfinished()
    #expect(try Set(FolderListing.names(in: ledger.folder())).subtracting([".", ".."]) == [record.id, fresh])
  }

  @Test func aRecordReadsBackAsItWasWritten() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    #expect(try ledger.read(record.id) == record)
  }

  @Test func isClaimedOnce() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    _ = try ledger.claim(record.id, user: alice, service: "login", by: record.process)
    #expect(throws: LedgerError.notYours) {
      try ledger.claim(record.id, user: alice, service: "login", by: record.process)
    }
  }

  @Test func isClaimedOnceByManyAtOnce() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let claimed = Mutex(0)
    let user = alice
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      // Any other error is a refusal as well.
      guard (try? ledger.claim(record.id, user: user, service: "login", by: record.process)) != nil else { return }
      claimed.withLock { $0 += 1 }
    }
    #expect(claimed.withLock { $0 } == 1)
    #expect(try ledger.read(record.id).isClaimed)
  }

  @Test func theParentMayClaim() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    #expect(try ledger.claim(record.id, user: alice, service: "login", by: record.parent).isClaimed)
  }

  @Test func anotherUserServiceOrProcessMayNotClaim() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let bob = try #require(UnixUsername(validating: "bob"))
    let reused = ProcessIdentity(pid: record.process.pid, startTime: record.process.startTime + 1)
    #expect(throws: LedgerError.notYours) {
      try ledger.claim(record.id, user: bob, service: "login", by: record.process)
    }
    #expect(throws: LedgerError.notYours) {
      try ledger.claim(record.id, user: alice, service: "sshd", by: record.process)
    }
    #expect(throws: LedgerError.notYours) { try ledger.claim(record.id, user: alice, service: "login", by: reused) }
  }

  @Test(arguments: ["../../etc/passwd", "", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef.new"])
  func anIDNeverNamesAnotherFile(_ id: String) throws {
    let folder = try TemporaryFolder()
    let (ledger, _) = try record(folder)
    #expect(throws: LedgerError.badID) { try ledger.read(id) }
  }

  @Test(arguments: [(#""version":1"#, #""version":2"#), (#""pid""#, #""p""#), ("}", "")])
  func leavesADamagedOrNewerRecordAside(_ from: String, _ to: String) throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let text = String(decoding: record.encoded(), as: UTF8.self).replacing(from, with: to)
    try folder.write("run/sessions/" + record.id, text)
    #expect(throws: LedgerError.notARecord) { try ledger.read(record.id) }
  }

  @Test func refusesAPlantedLink() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let path = folder.path + "/run/sessions/" + record.id
    rename(path, folder.path + "/elsewhere")
    symlink(folder.path + "/elsewhere", path)
    #expect(throws: LedgerError.self) { try ledger.read(record.id) }
  }

  @Test func aBoundRecordReadsBack() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let binding = SessionRecord.Binding(logindSession: "c1", leader: record.process)
    try ledger.bind(record.id, to: binding)
    try ledger.release(record.id)
    let read = try ledger.read(record.id)
    #expect(read.binding == binding)
    #expect(read.isReleased)
    try ledger.remove(record.id)
    #expect(throws: LedgerError.self) { try ledger.read(record.id) }
  }

  // MARK: What waits for a session

  private func waiting(_ folder: TemporaryFolder) -> WaitingRecords {
    WaitingRecords(run: RunFolder(path: folder.path + "/run"))
  }

  @Test func waitsForItsProcessAndItsParentUntilItIsBound() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let waiting = waiting(folder)
    try waiting.add(record)
    #expect(try ledger.waitingRecord("login") == record.id)
    #expect(try waiting.id(for: record.parent, "login") == record.id)
    #expect(try ledger.waitingRecord("sshd") == nil)
    #expect(try waiting.id(for: ProcessIdentity(pid: record.parent.pid, startTime: 1 << 60), "login") == nil)
    _ = try ledger.claim(record.id, user: alice, service: "login", by: record.process)
    try ledger.bind(record.id, to: SessionRecord.Binding(logindSession: "c1", leader: record.process))
    #expect(try ledger.waitingRecord("login") == nil)
    #expect(try waiting.id(for: record.parent, "login") == nil)
  }

  @Test func isBoundToOneSessionOfItsUserUntilTheHostClosesIt() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    let binding = SessionRecord.Binding(logindSession: "c1", leader: record.process)
    func isBound(_ user: String = "alice", service: String = "login", to other: SessionRecord.Binding) throws -> Bool {
      let name = try #require(UnixUsername(validating: user))
      return try ledger.isBound(record.id, user: name, service: service, to: other)
    }
    _ = try ledger.claim(record.id, user: alice, service: "login", by: record.process)
    #expect(try !isBound(to: binding))
    try ledger.bind(record.id, to: binding)
    #expect(try isBound(to: binding))
    #expect(try !isBound("bob", to: binding))
    #expect(try !isBound(service: "sshd", to: binding))
    #expect(try !isBound(to: SessionRecord.Binding(logindSession: "c2", leader: record.process)))
    let another = ProcessIdentity(pid: record.process.pid, startTime: 1 << 60)
    #expect(try !isBound(to: SessionRecord.Binding(logindSession: "c1", leader: another)))
    try ledger.release(record.id)
    #expect(try !isBound(to: binding))
  }

  @Test func whatWaitsOutlivesItsRecord() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    try waiting(folder).add(record)
    #expect(try ledger.retire(record) == nil)
    try ledger.remove(record.id)
    #expect(try ledger.waitingRecord("login") == record.id)
  }

  /// The helper has given it up before a later module's refusal is known, as when nobody types at the next prompt.
  @Test func whatHasFailedWaitsNoMoreAlthoughItsRecordIsGone() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    try waiting(folder).add(record)
    try ledger.remove(record.id)
    ledger.stopWaiting("fedcba9876543210fedcba9876543210")
    #expect(try ledger.waitingRecord("login") == record.id)
    ledger.stopWaiting(record.id)
    #expect(try ledger.waitingRecord("login") == nil)
    #expect(try waiting(folder).id(for: record.parent, "login") == nil)
  }

  @Test func aNewerRecordWaitsInPlaceOfAnOlderOne() throws {
    let folder = try TemporaryFolder()
    let (ledger, older) = try record(folder)
    let (_, newer) = try record(folder, id: "fedcba9876543210fedcba9876543210")
    for record in [older, newer] { try waiting(folder).add(record) }
    ledger.stopWaiting(older.id)
    #expect(try ledger.waitingRecord("login") == newer.id)
    ledger.stopWaiting(newer.id)
    #expect(try ledger.waitingRecord("login") == nil)
  }

  @Test func nothingWaitsForAProcessThatHasEnded() throws {
    let folder = try TemporaryFolder()
    let ended = ProcessIdentity(pid: 1, startTime: 1 << 60)
    let (ledger, record) = try record(folder, process: ended)
    let waiting = waiting(folder)
    try waiting.add(record)
    ledger.removeUnfinished()
    #expect(try waiting.id(for: ended, "login") == nil)
    #expect(try waiting.id(for: record.parent, "login") == record.id)
  }

  @Test func aDamagedFileOfWhatWaitsIsNotNothing() throws {
    let folder = try TemporaryFolder()
    let (ledger, record) = try record(folder)
    try waiting(folder).add(record)
    let names = try FolderListing.names(in: folder.path + "/run/waiting").filter { !$0.hasPrefix(".") }
    for name in names { try folder.write("run/waiting/" + name, "") }
    #expect(throws: LedgerError.notARecord) { try ledger.waitingRecord("login") }
  }

  @Test func aLookMakesNoFolder() throws {
    let folder = try TemporaryFolder()
    let ledger = SessionLedger(run: RunFolder(path: folder.path + "/run"))
    #expect(try ledger.waitingRecord("login") == nil)
    #expect(access(folder.path + "/run", F_OK) != 0)
  }

  @Test(arguments: [
    ("/usr/sbin/sshd", true), ("/usr/lib/openssh/sshd-session", true), ("/usr/bin/su", false),
    ("/usr/sbin/sshd2", false),
    ("/sshd/su", false), ("", false),
  ])
  func knowsTheProgramsOfSSHD(_ path: String, _ isSSHD: Bool) { #expect(SSHServer.isProgram(path) == isSSHD) }
}
