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
    supervisor = Self.supervisor(self.setup, run, open, origin, logind, seat, service, log, codes, uses, pace)
  }

  /// The helper is killed, and another one starts.
  func restart() {
    service.startOver()
    supervisor = Self.supervisor(setup, run, open, origin, logind, seat, service, log, codes, uses, pace)
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
    _ logind: TestLogind, _ seat: TestSeat, _ service: TestService, _ log: TestLog,
    _ codes: RecoveryCodes, _ uses: PhoneUses, _ pace: PollingSchedule
  ) -> Supervisor {
    Supervisor(
      setup: setup, ledger: SessionLedger(run: run), notes: WatchNotes(run: run),
      leaving: LeavingSessions(run: run),
      earlier: EarlierSessions(open, origin: origin, unixTime: { 1_800_000_000 + service.now / 1_000 }),
      away: AwayLocks(run: run),
      logind: logind, seat: seat, service: service, log: log,
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

  var records: [String] { (try? ledger.ids()) ?? [] }
  /// A process that has ended.
  var stranger: ProcessIdentity { ProcessIdentity(pid: me.pid, startTime: me.startTime + 1) }
}

final class TestLogind: Logind {
  var sessions: [String: LogindSession] = [:]
  var unclear = false
  /// Sessions whose scope exists without processes.
  var forgotten: Set<String> = []
  var locksScreens = true
  /// How many more attempts to connect fail.
  var refusesToTerminate = 0
  var refusesToKill = 0
  private(set) var terminated: [String] = []
  private(set) var locked: [String] = []
  private(set) var killed: [String] = []
  private(set) var stopped: [String] = []
  private var news: [LogindEvent] = []

  func takeEvents() -> [LogindEvent] {
    defer { news = [] }
    return news
  }

  /// Another process leads a session.
  func lead(_ id: String, by leader: Int32) {
    guard let old = sessions[id] else { return }
    sessions[id] = LogindSession(
      id: id, leader: leader, uid: old.uid, sessionClass: old.sessionClass, type: old.type, isRemote: old.isRemote,
      seat: old.seat, scope: old.scope)
  }

  /// Its leader has ended or has closed it; what it left runs on.
  func close(_ id: String) {
    guard let old = sessions[id] else { return }
    sessions[id] = LogindSession(
      id: id, leader: old.leader, uid: old.uid, sessionClass: old.sessionClass, type: old.type, isRemote: old.isRemote,
      seat: old.seat, scope: old.scope, isClosing: true)
  }

  func tell(_ event: LogindEvent) { news.append(event) }
  func events() -> [LogindEvent] { takeEvents() }

  func session(_ id: String) -> SessionSight {
    if unclear { return .unclear(.notReached("no bus")) }
    return sessions[id].map { .there($0) } ?? (forgotten.contains(id) ? .unclear(.forgotten(id)) : .gone)
  }

  /// Users' names by uid, for the list.
  var names: [UInt32: String] = [1_000: "alice", 1_001: "bob"]
  /// How many more lists fail.
  var refusesToList = 0

  func listed() throws(LogindError) -> [ListedSession] {
    guard refusesToList == 0 else {
      refusesToList -= 1
      throw .notReached("no bus")
    }
    return sessions.values.sorted { $0.id < $1.id }.map {
      ListedSession(id: $0.id, uid: $0.uid, user: names[$0.uid] ?? "", seat: $0.seat)
    }
  }

  func sessions(of uid: UInt32) throws(LogindError) -> [String] {
    sessions.values.filter { $0.uid == uid }.map(\.id)
  }

  func terminateSession(_ id: String) throws(LogindError) {
    guard refusesToTerminate == 0 else {
      refusesToTerminate -= 1
      throw .notReached("no bus")
    }
    guard sessions.removeValue(forKey: id) != nil else { throw .noSuchObject }
    terminated.append(id)
    news.append(.sessionRemoved(id))
  }

  func lockSession(_ id: String) throws(LogindError) { locked.append(id) }
  func lockedHint(_ id: String) throws(LogindError) -> Bool { locksScreens && locked.contains(id) }
  /// Units that were asked to end, and what a session does then.
  private(set) var askedToEnd: [String] = []
  var whenAsked: (TestLogind) -> Void = { _ in }
  var refusesToAsk = 0
  func endUnit(_ name: String) throws(LogindError) {
    guard refusesToAsk == 0 else {
      refusesToAsk -= 1
      throw .notReached("no bus")
    }
    askedToEnd.append(name)
    whenAsked(self)
  }
  func killUnit(_ name: String) throws(LogindError) {
    guard refusesToKill == 0 else {
      refusesToKill -= 1
      throw .notReached("no bus")
    }
    killed.append(name)
  }
  func stopUnit(_ name: String) throws(LogindError) { stopped.append(name) }
}

final class TestService: SessionService {
  var answers: [String: ServiceOutcome] = [:]
  /// The reply to the question for the service's position.
  var toMark: ServiceOutcome = .mark(nil)
  private(set) var marksAsked = 0
  /// The reply to the end of a session.
  var toEnds: ServiceOutcome = .endTold
  /// The times of status requests.
  private(set) var askedAt: [Int64] = []
  var asked: Int { askedAt.count }
  private(set) var ended: [String] = []
  var takesManyAtOnce = true
  /// The delay of a reply, in ms.
  var latency: Int64 = 0
  var now: Int64 = 0
  private var underWay: [(due: Int64, ticket: UInt32, outcome: ServiceOutcome)] = []
  private var last: UInt32 = 0

  /// The time of the next reply; nil if none is due.
  var nextAnswer: Int64? { underWay.map(\.due).min() }

  func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket {
    askedAt.append(now)
    return give(answers[session.statusURL] ?? .failed(.serverFailed(status: 500)))
  }

  func tellEnd(of session: RemoteSession) -> Ticket {
    ended.append(session.logoutURL)
    return give(toEnds)
  }

  /// The reply to the report of a recovery code's use.
  var toUses: ServiceOutcome = .codeUseTold
  private(set) var usesTold: [CodeUseReport] = []

  func tellCodeUse(_ report: CodeUseReport, of token: Secret) -> Ticket {
    usesTold.append(report)
    return give(toUses)
  }

  func askMark() -> Ticket {
    marksAsked += 1
    return give(toMark)
  }

  /// The replies to questions for the list of users, each once.
  var toUsers: [ServiceOutcome] = []
  private(set) var usersAsked: [UserListQuestion] = []

  func askUsers(_ question: UserListQuestion, mayHold: Bool) -> Ticket {
    usersAsked.append(question)
    return give(toUsers.isEmpty ? .failed(.serverFailed(status: 500)) : toUsers.removeFirst())
  }

  func outcomes() -> [(ticket: Ticket, outcome: ServiceOutcome)] {
    let due = underWay.filter { $0.due <= now }
    underWay.removeAll { $0.due <= now }
    return due.map { ($0.ticket, $0.outcome) }
  }

  func startOver() { underWay = [] }

  private func give(_ outcome: ServiceOutcome) -> Ticket {
    last += 1
    underWay.append((now + latency, last, outcome))
    return last
  }
}

final class TestSeat: Seat {
  private(set) var said: [String] = []
  private(set) var ticketsDropped: [String] = []
  /// Sessions whose processes do not end.
  var stubborn: Set<String> = []

  func say(_ line: String, inSession id: String, of uid: UInt32) { said.append("\(id): \(line)") }

  func dropTickets(of user: SystemUser) -> [FileError] {
    ticketsDropped.append(user.name.text)
    return []
  }

  func hasProcesses(inSession id: String, of uid: UInt32) -> Bool { stubborn.contains(id) }

  var lockers: [String: RunningLocker] = [:]
  func locker(inSession id: String, of uid: UInt32) -> RunningLocker? { lockers[id] }

  /// What runs of sessions besides their leaders.
  var rests: [String: SessionRest] = [:]
  func rest(ofSession id: String, of uid: UInt32, leader: ProcessIdentity) -> SessionRest { rests[id] ?? .nothing }

  /// Sessions with a living leader.
  var led: Set<String> = []
  func runs(_ process: ProcessIdentity, inSession id: String, of uid: UInt32) -> Bool { led.contains(id) }
}

final class TestLog: HelperLog {
  private(set) var lines: [(priority: Int32, text: String)] = []
  func write(_ priority: Int32, _ text: String) { lines.append((priority, text)) }
  func count(_ text: String) -> Int { lines.count { $0.text.contains(text) } }
}
