import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import IAMPASSProtocol

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Looks at everything a sign-in needs, and says what to mend.",
    discussion: "Changes nothing. Exits with 0 where all is well, 1 with a warning, 2 with a problem.")

  @OptionGroup var host: HostOptions
  @Option(help: ArgumentHelp("The folder of the PAM services' files.", visibility: .hidden))
  var pamFolder = "/etc/pam.d"
  @Flag(help: "Print a JSON object.") var json = false

  func run() throws {
    try reportingProblems {
      try requireRoot()
      var report = Doctor(place: host.place, pamFolder: pamFolder).look()
      if let trial = TrialState.look(host).finding { report.add(trial) }
      if json { Terminal.say(report.json) } else { show(report) }
      if report.worst != .ok { throw ExitCode(report.worst.exitCode) }
    }
  }

  private func show(_ report: CheckReport) {
    for finding in report.findings { finding.show() }
    Terminal.say(report.summary)
  }
}

extension Finding {
  /// The width of "problem" and two spaces.
  private static let margin = 9

  func show() {
    let word = level.rawValue
    let color: Terminal.Color =
      switch level {
      case .ok: .green
      case .warning: .yellow
      case .problem: .red
      }
    Terminal.say(
      Terminal.colored(word, color) + String(repeating: " ", count: Self.margin - word.count)
        + text.onOneLine)
    if let hint { Terminal.say(String(repeating: " ", count: Self.margin) + "hint: " + hint.onOneLine) }
  }
}

extension String {
  /// The text on one line, whatever files and services put into it.
  var onOneLine: String { DisplayText.sanitized(self, limit: 1_000) }
}
