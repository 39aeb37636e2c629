import HostState
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import IAMPASSClient
@testable import SessionHelper
@testable import WorkerLink

/// A computer with sessions, a service with a status for each, and their supervisor. Time is a number.
final class HelperFixture {
  let folder: ScratchFolder
  let run: RunFolder
  let logind = TestLogind()
  let service = TestService()
  let seat = TestSeat()
  let log = TestLog()
  private(set) var supervisor: Supervisor
  private(set) var now: Int64 = 1_000_000
  let codes: RecoveryCodes
  let uses: PhoneUses
  /// The computer and its present boot.
  var origin: OpenSession.Origin? = OpenSession.Origin(machine: "m", boot: "1")
  let open: OpenSessions
  private let settings: ServiceSettings
  let setup: SupervisorSetup
  let lookups = TestLookups()
  private let pace: PollingSchedule
  /// As `iampass.conf` says.
  let state: RunFolder
  private let me: ProcessIdentity

  /// - Parameters:
  ///   - settings: further lines of `iampass.conf`.
  ///   - dice: spreads the questions to the service.
  init(
    settings text: String = "", _ change: (inout Configuration) -> Void = { _ in }, dice: @escaping () -> Int64 = { 0 }
  ) throws {
    pace = PollingSchedule(dice: dice)
    folder = try ScratchFolder()
    state = RunFolder(path: folder.path + "/state")
    run = RunFolder(path: folder.path + "/run")
    open = OpenSessions(state: RunFolder(path: folder.path + "/state"))
    codes = RecoveryCodes(state: RunFolder(path: folder.path + "/state"), computer: "this one")
    uses = PhoneUses(state: RunFolder(path: folder.path + "/state"))
    me = try #require(ProcessIdentity.current())
    let credentials = folder.path + "/credentials"
    try AtomicFile.write(
      Array("application_id = own\napplication_secret = abcdefghijklmnopqrstuvwx\n".utf8), to: credentials, mode: 0o600)
    let lines = "server = https://localhost\nstate_dir = \(state.path)\n" + text
    let setup = try HostSetup(path: folder.write("iampass.conf", lines))
    settings = try setup.serviceSettings()
    var configuration = setup.configuration
    change(&configuration)
    self.setup = try SupervisorSetup(setup, configuration)
    supervisor = Self.supervisor(
      self.setup, run, open, origin, logind, seat, service, lookups, log, codes, uses, pace)
  }

  /// The helper is killed, and another one starts.
  func restart() {
    service.startOver()
    supervisor = Self.supervisor(setup, run, open, origin, logind, seat, service, lookups, log, codes, uses, pace)
  }

  /// The computer restarts: `/run` is empty, and nobody is signed in.
  func reboot(as origin: OpenSession.Origin? = OpenSession.Origin(machine: "m", boot: "2")) throws {
    for id in records { try ledger.remove(id) }
    for id in try WatchNotes(run: run).ids() { try WatchNotes(run: run).remove(id) }
    logind.sessions = [:]
    self.origin = origin
    restart()
  }

  private static func supervisor(
    _ setup: SupervisorSetup, _ run: RunFolder, _ open: OpenSessions, _ origin: OpenSession.Origin?,
    _ logind: TestLogind, _ seat: TestSeat, _ service: TestService, _ lookups: TestLookups, _ log: TestLog,
    _ codes: RecoveryCodes, _ uses: PhoneUses, _ pace: PollingSchedule
  ) -> Supervisor {
    Supervisor(
      setup: setup, ledger: SessionLedger(run: run), notes: WatchNotes(run: run),
      leaving: LeavingSessions(run: run),
      earlier: EarlierSessions(open, origin: origin, unixTime: { 1_800_000_000 + service.now / 1_000 }),
      away: AwayLocks(run: run),
      logind: logind, seat: seat, service: service, lookups: lookups, log: log,
      reports: CodeReports(
        codes, uses, hostName: { "laptop" },
        token: { user in
          if user.text == "unknown" { throw UserLookupError.listedAndUnknown }
          return user.text == "alice" ? Secret("token") : nil
        }),
      pace: pace)
  }

  var ledger: SessionLedger { SessionLedger(run: run) }

  /// Signs a user in. The supervisor has not seen the record yet. Returns the record's id.
  @discardableResult
  func signIn(
    _ user: String = "alice", uid: UInt32 = 1_000, session: String = "1", type: String = "tty",
    service: String = "sshd", mark: ServiceMark? = nil, phone: ApprovingPhone? = nil,
    _ change: (inout SessionRecord) -> Void = { _ in }
  ) throws -> String {
    let id = try #require(Digest.randomIdentifier())
    let remote = try RemoteSession(
      statusURL: "https://localhost/status/\(id)", logoutURL: "https://localhost/logout/\(id)", token: Secret(id),
      secret: Secret("0123456789abcdef01234567"), name: nil, settings: settings)
    var record = SessionRecord(
      id: id, user: try #require(UnixUsername(validating: user)), uid: uid, service: service, remoteHost: "192.0.2.7",
      tty: nil, session: remote, mark: mark, process: me, parent: me, created: now / 1_000, duration: 43_200,
      phone: phone, opensSession: ServiceTable.opensSession(service))
    if service != "sudo" {
      record.isClaimed = true
      record.binding = SessionRecord.Binding(logindSession: session, leader: me)
      logind.sessions[session] = LogindSession(
        id: session, leader: me.pid, uid: uid, sessionClass: "user", type: type, isRemote: type == "tty",
        seat: type == "tty" ? "" : "seat0", scope: "session-\(session).scope")
    }
    change(&record)
    try write(record)
    self.service.answers[remote.statusURL] = .answer(.status(.active, held: false), mark: mark)
    return id
  }

  func write(_ record: SessionRecord) throws {
    try AtomicFile.write(record.encoded(), to: ledger.folder() + "/" + record.id, mode: 0o600)
  }

  /// Sets the service's status for a session.
  func says(_ answer: ServiceOutcome, of id: String) { service.answers["https://localhost/status/\(id)"] = answer }
  func says(
    _ word: String, of id: String, held: Bool = false, reason: String? = nil, mark: ServiceMark? = nil
  ) {
    says(.answer(.status(SessionStatus(word: word), held: held, reason: reason), mark: mark), of: id)
  }

  /// Lets time pass.
  ///
  /// - Parameter looking: looks at all records first, and again every half minute.
  func pass(milliseconds: Int64 = 0, looking: Bool = true) {
    let end = now + milliseconds
    service.now = now
    if looking { supervisor.rescan(at: now) }
    while true {
      service.now = now
      let due = min(supervisor.turn(at: now) ?? .max, service.nextAnswer ?? .max)
      supervisor.logindTold(logind.takeEvents(), at: now)
      guard due > now else { continue }
      guard now < end else { return }
      let before = now
      now = min(max(due, now + 1), end)
      if looking, before / 30_000 != now / 30_000 { supervisor.rescan(at: now) }
    }
  }

  /// The machine sleeps.
  func sleep(seconds: Int64) {
    now += seconds * 1_000
    service.now = now
    supervisor.wokeUp(now)
  }

  var records: [String] { (try? ledger.ids()) ?? [] }
  /// A process that has ended.
  var stranger: ProcessIdentity { ProcessIdentity(pid: me.pid, startTime: me.startTime + 1) }
}
