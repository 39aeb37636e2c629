import HostState
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import IAMPASSClient
@testable import SessionHelper
@testable import WorkerLink

final class TestLogind: Logind {
  var sessions: [String: LogindSession] = [:]
  var unclear = false
  /// Sessions whose scope exists without processes.
  var forgotten: Set<String> = []
  var locksScreens = true
  /// How many more attempts to connect fail.
  var refusesToTerminate = 0
  /// Sessions that logind does not terminate.
  var stuck: Set<String> = []
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
      seat: old.seat, scope: old.scope, service: old.service)
  }

  /// Its leader has ended or has closed it; what it left runs on.
  func close(_ id: String) {
    guard let old = sessions[id] else { return }
    sessions[id] = LogindSession(
      id: id, leader: old.leader, uid: old.uid, sessionClass: old.sessionClass, type: old.type, isRemote: old.isRemote,
      seat: old.seat, scope: old.scope, isClosing: true, service: old.service)
  }

  /// A desktop gives its session a type by SetType.
  func setType(_ id: String, _ type: String) {
    guard let old = sessions[id] else { return }
    sessions[id] = LogindSession(
      id: id, leader: old.leader, uid: old.uid, sessionClass: old.sessionClass, type: type, isRemote: old.isRemote,
      seat: old.seat, scope: old.scope, isClosing: old.isClosing, service: old.service)
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
    guard !stuck.contains(id) else { throw .refused("stuck") }
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
  /// Whether the last status request may be held.
  private(set) var mayHoldLast = false
  private(set) var ended: [String] = []
  var takesManyAtOnce = true
  /// The delay of a reply, in ms.
  var latency: Int64 = 0
  /// The delay of the replies about a session, by the address of its status; in ms.
  var latencies: [String: Int64] = [:]
  var now: Int64 = 0
  private var underWay: [(due: Int64, ticket: UInt32, outcome: ServiceOutcome)] = []
  private var last: UInt32 = 0

  /// The time of the next reply; nil if none is due.
  var nextAnswer: Int64? { underWay.map(\.due).min() }

  func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket {
    askedAt.append(now)
    mayHoldLast = mayHold
    return give(answers[session.statusURL] ?? .failed(.serverFailed(status: 500)), after: latencies[session.statusURL])
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

  private func give(_ outcome: ServiceOutcome, after delay: Int64? = nil) -> Ticket {
    last += 1
    underWay.append((now + (delay ?? latency), last, outcome))
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
