import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSProtocol

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows whether sign-in by phone works, and who is signed in by phone.",
    discussion: """
      Changes nothing. Exits with 0 if everything that it shows works, and with 1 if something does not. iampassctl \
      check looks at more, and says what to mend.
      """)

  /// The longest time of all calls to the service, in milliseconds.
  private static let patience: Int64 = 10_000

  @OptionGroup var host: HostOptions
  @Option(help: ArgumentHelp("The folder of the PAM services' files.", visibility: .hidden))
  var pamFolder = "/etc/pam.d"
  @Flag(help: "Print a JSON object.") var json = false

  func run() throws {
    try reportingProblems {
      let records = try RecordedSessions(host)
      let setup = records.setup
      let screen = StatusScreen(
        server: setup.configuration.server?.description, computer: (try? setup.credential())?.host,
        status: HostStatus(setup, pamFolder: pamFolder, within: Self.patience),
        helperIsThere: records.helperIsThere, trial: TrialState.look(host),
        sessions: try records.all(), clock: (Int64(time(nil)), BootTime.seconds()))
      if json { Terminal.say(screen.json) } else { screen.show() }
      if !screen.works { throw ExitCode(1) }
    }
  }
}

/// The output of `status`.
struct StatusScreen {
  /// The width of the names of lines.
  private static let margin = 10
  private static let head = ["USER", "SERVICE", "SINCE", "TERMINAL", "FROM", "STATUS"]

  let server: String?
  /// The computer's name at the service; nil if the credential does not have it.
  let computer: String?
  let service: [Finding]
  let asking: [String]
  /// Problems of PAM and sshd.
  let problems: [Finding]
  let helperIsThere: Bool
  let trial: TrialState
  let sessions: [RecordedSession]
  /// The current time, in Unix seconds and in seconds after boot.
  let clock: (unix: Int64, boot: Int64)

  init(
    server: String?, computer: String?, status: HostStatus, helperIsThere: Bool, trial: TrialState,
    sessions: [RecordedSession], clock: (unix: Int64, boot: Int64)
  ) {
    self.init(
      server: server, computer: computer, service: status.service, asking: status.asking, problems: status.problems,
      helperIsThere: helperIsThere, trial: trial, sessions: sessions, clock: clock)
  }

  init(
    server: String?, computer: String?, service: [Finding], asking: [String], problems: [Finding],
    helperIsThere: Bool, trial: TrialState, sessions: [RecordedSession], clock: (unix: Int64, boot: Int64)
  ) {
    self.server = server
    self.computer = computer
    self.service = service
    self.asking = asking
    self.problems = problems
    self.helperIsThere = helperIsThere
    self.trial = trial
    self.sessions = sessions
    self.clock = clock
  }

  /// Problems of the service. It is also one if the service did not say whether it accepts this computer.
  private var serviceProblems: [Finding] {
    let found = service.filter { $0.level == .problem }
    guard found.isEmpty, !service.contains(where: { $0.area == .service && $0.level == .ok }) else { return found }
    return [Finding(.problem, .service, "the service did not say whether it accepts this computer")]
  }

  private var trialFinding: Finding? { trial.finding }

  /// Whether everything that is shown works.
  var works: Bool {
    serviceProblems.isEmpty && problems.isEmpty && !asking.isEmpty && helperIsThere
      && (trialFinding?.level ?? .ok) == .ok
  }

  func show() {
    line("computer", computer ?? "has no name at the service: its credential is for no computer")
    line(
      "service", (server ?? "none") + (serviceProblems.isEmpty ? ": answers, and accepts this computer" : ""),
      isWell: serviceProblems.isEmpty)
    for problem in serviceProblems { say(problem) }
    line(
      "asks", asking.isEmpty ? "no PAM service asks the phone" : asking.joined(separator: ", "),
      isWell: !asking.isEmpty)
    for problem in problems { say(problem) }
    line(
      "helper", helperIsThere ? "runs" : "does not run: nobody is logged out when a phone leaves",
      isWell: helperIsThere)
    if let trialFinding {
      line("trial", trialFinding.text, isWell: trialFinding.level == .ok)
      hint(trialFinding)
    } else {
      line("trial", "none")
    }
    Terminal.say("")
    TextTable(head: Self.head, rows: sessions.map(columns)).show(whenEmpty: "nobody is signed in by phone")
  }

  private func line(_ name: String, _ text: String, isWell: Bool = true) {
    let margin = String(repeating: " ", count: Self.margin - name.count)
    Terminal.say((isWell ? name : Terminal.colored(name, .red)) + margin + text.onOneLine)
  }

  private func say(_ problem: Finding) {
    line("problem", problem.text, isWell: false)
    hint(problem)
  }

  private func hint(_ finding: Finding) {
    if let hint = finding.hint { line("", "hint: \(hint)") }
  }

  /// When the session began, in Unix seconds.
  private func began(_ session: RecordedSession) -> Int64 {
    clock.unix - max(0, clock.boot - session.record.created)
  }

  func columns(_ session: RecordedSession) -> [String] {
    let record = session.record
    return [
      record.user.text, record.service, ClockTime.date(began(session)), record.tty ?? "", record.remoteHost ?? "",
      session.status,
    ]
  }

  var json: JSON {
    .object([
      "works": .bool(works), "server": server.map { .string($0) } ?? .null,
      "computer": computer.map { .string($0) } ?? .null,
      "service_answers": .bool(serviceProblems.isEmpty), "asking": .array(asking.map { .string($0) }),
      "helper": .bool(helperIsThere),
      "problems": .array((serviceProblems + problems).map { .string($0.text.onOneLine) }),
      "trial": trialFinding.map { .string($0.text.onOneLine) } ?? .null,
      "sessions": .array(
        sessions.map { session in
          .object([
            "id": .string(session.record.publicName), "user": .string(session.record.user.text),
            "service": .string(session.record.service), "since": .integer(began(session)),
            "tty": session.record.tty.map { .string($0) }, "remote_host": session.record.remoteHost.map { .string($0) },
            "status": .string(session.status),
          ])
        }),
    ])
  }
}
