import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

struct RecoveryCollect: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collect", abstract: "Shows, once, the recovery codes that several computers make.",
    discussion: """
      Runs a command that has each computer run "iampassctl recovery create --sealed-for {key} USER": ssh, or a tool \
      such as Ansible. {key} becomes the key of this run. The codes that came are shown by computer; what carried them \
      saw sealed texts only. A computer whose codes did not come needs new ones.
      """)

  /// The placeholder for the key.
  private static let place = "{key}"

  @Flag(help: "Show them also where standard output is not a terminal.") var anyOutput = false
  @Option(help: ArgumentHelp("Host names, with commas between, that codes must come from.", valueName: "names"))
  var computers: String?
  @Argument(parsing: .postTerminator, help: "The command, after --.") var command: [String]

  func run() throws {
    try reportingProblems {
      guard anyOutput || isatty(STDOUT_FILENO) == 1 else { throw CommandProblem.codesNeedTerminal }
      guard command.contains(where: { $0.contains(Self.place) }) else { throw CommandProblem.collect(.noPlaceForKey) }
      let interrupt = Interrupt()
      let opener: SealedCodes.Opener
      do throws(RecoveryError) { opener = try SealedCodes.Opener() } catch { throw CommandProblem.recovery(error) }
      var collected = CollectedCodes(opener: opener)
      let words = command.map { $0.replacing(Self.place, with: opener.receiver.text) }
      let end = try CodeCarrier(words: words).run(interrupt) { collected.take($0) }
      // The codes are shown however the command ended: their computers no longer have others.
      collected.show()
      try judge(collected, end)
    }
  }

  private func judge(_ collected: CollectedCodes, _ end: CodeCarrier.End) throws(CommandProblem) {
    if end == .interrupted { throw .interrupted }
    if collected.unopened > 0 { throw .collect(.notOpened(collected.unopened)) }
    let missing = Self.names(in: computers).filter { !collected.computers.contains($0) }
    guard missing.isEmpty else { throw .collect(.missing(missing)) }
    switch end {
    case .exited(0): if collected.computers.isEmpty { throw .collect(.nothingCame) }
    case .exited, .killed: throw .collect(.commandFailed)
    case .interrupted, .tooLate: throw .collect(.tooLate)
    }
  }

  private static func names(in text: String?) -> [String] {
    (text ?? "").split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }.map(String.init)
  }
}

/// The codes that have arrived so far.
struct CollectedCodes {
  /// The most texts that are opened.
  private static let greatestCount = 10_000
  /// The most characters that are shown of a line without codes.
  private static let greatestShown = 500

  let opener: SealedCodes.Opener
  private var seen: Set<String> = []
  private var sets: [SealedCodes] = []
  /// The number of texts for another key, and of changed texts.
  private(set) var unopened = 0
  var computers: Set<String> { Set(sets.map(\.computer)) }

  init(opener: SealedCodes.Opener) { self.opener = opener }

  /// Takes a line. A line without a sealed text is the command's own message, and is shown.
  mutating func take(_ line: String) {
    let texts = SealedCodes.texts(in: line)
    if texts.isEmpty { Terminal.complain(DisplayText.sanitized(line, limit: Self.greatestShown)) }
    // A tool may print a text twice.
    for text in texts where seen.count < Self.greatestCount && seen.insert(text).inserted {
      if let opened = opener.opened(text) { sets.append(opened) } else { unopened += 1 }
    }
  }

  func show() {
    for set in sets.sorted(by: { ($0.computer, $0.user) < ($1.computer, $1.user) }) {
      Terminal.say("\(DisplayText.sanitized(set.computer, limit: 64)): \(DisplayText.sanitized(set.user, limit: 64))")
      RecoveryCreate.show(set.codes)
    }
  }
}

/// Why codes of several computers are missing.
enum CollectProblem: Error, Equatable {
  case badKey
  case noPlaceForKey
  case cannotStart(String)
  case commandFailed
  case tooLate
  case nothingCame
  case missing([String])
  case notOpened(Int)

  var message: String {
    switch self {
    case .badKey: "this is not a key of recovery collect"
    case .noPlaceForKey: "the command after -- has no {key} in it"
    case .cannotStart(let name): "\(DisplayText.sanitized(name, limit: 64)) cannot be started"
    case .commandFailed: "the command failed; codes of some computers may not have come"
    case .tooLate: "the command did not end in time and was killed"
    case .nothingCame: "the command printed no recovery codes"
    case .missing(let names):
      "no codes came from \(DisplayText.sanitized(names.joined(separator: ", "), limit: 500))"
    case .notOpened(let count):
      "\(count) sealed \(count == 1 ? "text was" : "texts were") made for another run, or changed"
    }
  }

  var hint: String? {
    switch self {
    case .badKey: "let recovery collect put it there: {key}"
    case .noPlaceForKey, .nothingCame:
      "iampassctl recovery collect -- ssh root@HOST iampassctl recovery create --sealed-for {key} USER"
    case .cannotStart: nil
    case .commandFailed, .tooLate, .missing, .notOpened:
      "run it again for the computers that are not above: their earlier codes may serve no more"
    }
  }

  var exitCode: Int32 {
    switch self {
    case .badKey, .noPlaceForKey: EX_USAGE
    case .cannotStart: EX_NOINPUT
    case .commandFailed, .tooLate, .nothingCame, .missing: EX_UNAVAILABLE
    case .notOpened: EX_DATAERR
    }
  }
}
