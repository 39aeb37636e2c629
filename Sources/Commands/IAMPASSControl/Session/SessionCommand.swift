import ArgumentParser
import CHost
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct SessionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session", abstract: "Lists the sessions that phones opened, shows them live, renews or ends one.",
    subcommands: [List.self, Watch.self, Renew.self, End.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the sessions that phones opened on this computer.",
      discussion: """
        STATUS is the service's last word, as the background helper knows it; NEXT CHECK says when it asks again. \
        sudo and su are not watched: their sessions end with the command. A session of STATUS offline was opened by a \
        recovery code, and ends with its time. If phones are looked for by Bluetooth, a \
        second list shows what is known of them.
        """)

    @OptionGroup var host: HostOptions
    @Flag(help: "Print a JSON array.") var json = false

    func run() throws {
      try reportingProblems {
        let records = try RecordedSessions(host)
        let sessions = try records.all()
        if json {
          Terminal.say(.array(sessions.map { $0.json(presence: records.presence) }))
        } else {
          TextTable(head: RecordedSession.head, rows: sessions.map(\.columns)).show(whenEmpty: "no sessions")
          ListedPresence.show(records.presence)
        }
        records.warnWithoutHelper()
      }
    }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Logs a session out, and ends it at the service.",
      discussion: "The session's terminal says that an administrator ended it. Returns when the session is gone.")

    @OptionGroup var host: HostOptions
    @Argument(help: "The session's id, or as much of its beginning as is unique.") var id: String

    func run() throws {
      try reportingProblems {
        let records = try RecordedSessions(host)
        let session = try records.session(beginning: id)
        guard records.helperIsThere else { throw CommandProblem.helperNotThere }
        try records.end(session)
        // A sudo or su is not watched, so its processes are not known.
        let isWatched = session.record.binding != nil
        Terminal.say(
          "\(session.record.publicName): " + (isWatched ? "ended" : "ended at the service; what runs under it goes on"))
      }
    }
  }
}

/// The records in the run folder, with the helper's notes.
struct RecordedSessions {
  /// How long the helper may take, in seconds. Processes that do not end by themselves are killed after five.
  private static let patience = 15

  let setup: HostSetup
  let ledger: SessionLedger
  private let notes: WatchNotes
  let helperIsThere: Bool
  /// The helper's states of users' phones; empty if the helper does not run.
  let presence: [UserPresence]

  init(_ options: HostOptions) throws(CommandProblem) {
    try requireRoot()
    do { setup = try HostSetup(path: options.path) } catch { throw .misconfigured(error, path: options.path) }
    ledger = setup.ledger
    notes = setup.watchNotes
    helperIsThere = setup.helper.isThere
    do { presence = helperIsThere ? try PresenceStates(run: setup.run).read() : [] } catch { throw .file(error) }
  }

  func warnWithoutHelper() {
    guard !helperIsThere else { return }
    Terminal.complain("iampassctl: iampass-helper does not run: nobody is logged out when a phone leaves")
    Terminal.complain("hint: systemctl start iampass-helper")
  }

  /// All sessions, oldest first.
  func all() throws(CommandProblem) -> [RecordedSession] {
    let ids: [String]
    do { ids = try ledger.ids() } catch { throw .records(error) }
    var sessions: [RecordedSession] = []
    for id in ids {
      // The helper logs damaged records.
      if let found = read(id) { sessions.append(found) }
    }
    return sessions.sorted { ($0.record.created, $0.record.id) < ($1.record.created, $1.record.id) }
  }

  func session(beginning text: String) throws(CommandProblem) -> RecordedSession {
    let matches = try all().filter { !text.isEmpty && $0.isNamed(text) }
    guard let first = matches.first else { throw .noSession(text) }
    guard matches.count == 1 else { throw .severalSessions(text) }
    return first
  }

  /// Makes the helper end a session, and waits for the end.
  func end(_ session: RecordedSession) throws(CommandProblem) {
    let id = session.record.id
    do {
      if session.record.binding == nil { try ledger.release(id) } else { try ledger.requestLogout(id) }
      for _ in 0..<(Self.patience * 20) {
        guard try ledger.ids().contains(id) else { return }
        usleep(50_000)
      }
    } catch .file(let error) where error.code == .missing { return } catch { throw .records(error) }
    // The helper keeps the record of a session that is over until it has told the service.
    if read(id)?.isEnding == true { throw .serviceNotTold(session.record.publicName) }
    throw .sessionStays(session.record.publicName)
  }

  /// Nil if the record was removed meanwhile, or cannot be read.
  private func read(_ id: String) -> RecordedSession? {
    guard let record = try? ledger.read(id) else { return nil }
    return RecordedSession(record: record, note: (try? notes.read(id)) ?? nil)
  }
}

/// One record, as it is shown.
struct RecordedSession {
  let record: SessionRecord
  let note: WatchNote?

  /// Whether the session's name, or its record's file name, begins with this text. Logs, service and phone use the
  /// session's name.
  func isNamed(_ beginning: String) -> Bool {
    record.publicName.hasPrefix(beginning) || record.id.hasPrefix(beginning)
  }

  /// Whether the session's host has closed it, and the helper does not watch processes that run on.
  fileprivate var isEnding: Bool { record.isReleased && note?.isRunningOn != true }

  private var isWatched: Bool {
    record.binding != nil && !record.isOffline && note?.asking != .no && !isEnding
  }

  var status: String {
    if isEnding { return "ending" }
    if record.isOffline { return "offline" }
    return note?.status?.word ?? (record.binding == nil ? "not watched" : "unknown")
  }

  /// How long the session has had this status, in seconds.
  private var age: Int64 { max(0, BootTime.seconds() - (note?.since ?? record.created)) }

  var nextCheck: String {
    guard isWatched, let note else { return "-" }
    if let since = note.unansweredSince {
      // This is the longest time that a busy service may delay the helper, spread by a fifth.
      return "within 6m, unanswered for \(Span.text(BootTime.seconds() - since))"
    }
    return note.asking == .held ? "when it changes" : "within 6s"
  }

  static let head = ["ID", "USER", "SERVICE", "FROM", "SESSION", "STATUS", "SINCE", "NEXT CHECK", "REMARK"]

  var columns: [String] {
    [
      String(record.publicName.prefix(8)), record.user.text, record.service, record.remoteHost ?? "-",
      record.binding?.logindSession ?? "-", status, Span.text(age), nextCheck, note?.remark ?? "",
    ].map { DisplayText.sanitized($0, limit: 64) }.map { $0.isEmpty ? "-" : $0 }
  }

  var json: JSON { json(presence: []) }

  /// - Parameter presence: the states of all users.
  func json(presence: [UserPresence]) -> JSON {
    let phones = presence.first { $0.user == record.user }
    return .object([
      "id": .string(record.publicName), "record": .string(record.id),
      "user": .string(record.user.text), "service": .string(record.service),
      "remote_host": record.remoteHost.map { .string($0) }, "tty": record.tty.map { .string($0) },
      "logind_session": record.binding.map { .string($0.logindSession) },
      "status": note?.status.map { .string($0.word) }, "since_seconds": .integer(age),
      "asking": note.map { .string($0.asking.rawValue) }, "watched": .bool(isWatched),
      "next_check": isWatched ? .string(nextCheck) : .null,
      "unanswered_seconds": note?.unansweredSince.map { .integer(BootTime.seconds() - $0) },
      "offline": .bool(record.isOffline),
      "remark": note.map { .string($0.remark) }, "ending": .bool(isEnding),
      "presence": phones.map { .string($0.state.rawValue) },
      "presence_since_seconds": phones.map { .integer(max(0, BootTime.seconds() - $0.since)) },
    ])
  }
}

/// Durations for people.
enum Span {
  /// A duration such as `42s`, `7m`, `3h12m` or `2d4h`.
  static func text(_ seconds: Int64) -> String {
    switch max(0, seconds) {
    case let time where time < 60: "\(time)s"
    case let time where time < 3_600: "\(time / 60)m"
    case let time where time < 86_400: "\(time / 3_600)h\(time / 60 % 60)m"
    case let time: "\(time / 86_400)d\(time / 3_600 % 24)h"
    }
  }
}
