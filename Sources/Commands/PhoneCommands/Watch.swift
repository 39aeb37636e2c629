import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSPhone

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show sign-in requests as they come, and answer them.",
    discussion: "Ends with Ctrl-C. Tries again while the service is unavailable.")

  enum Answer: String, ExpressibleByArgument, CaseIterable {
    case approve, deny
    case notMe = "not-me"
    case ignore, ask
  }

  @OptionGroup var options: StateOption

  @Option(help: "How to answer each request.")
  var answer: Answer

  @Option(help: ArgumentHelp("Wait before the answer.", valueName: "seconds"))
  var after: Int64 = 0

  @Option(
    help: ArgumentHelp(
      "The code that the terminal shows. With approve: approve only the open request with this code, and end.",
      valueName: "digits"))
  var code: String?

  @Flag(
    help: """
      With approve: also sign lists of users and sets of administrators, without anyone reading them. Otherwise such a \
      request is not answered.
      """)
  var signDocuments = false

  @Flag(help: "End after the first request.")
  var once = false

  func validate() throws {
    guard (0...3_600).contains(after) else { throw ValidationError("--after takes 0 to 3600 seconds") }
    guard !signDocuments || answer == .approve else {
      throw ValidationError("--sign-documents goes with --answer approve; with ask, each document is asked about")
    }
    guard code.map({ MatchCode($0) != nil }) ?? true else { throw ValidationError("--code takes two digits") }
  }

  func run() throws {
    let interrupt = Interrupt.ofPhone()
    let watcher = Watcher(
      phone: try RegisteredPhone(options, interrupt: interrupt), state: StateFile(path: options.state),
      interrupt: interrupt, answer: answer, code: code.flatMap(MatchCode.init), delay: after * 1_000, once: once,
      signsDocuments: signDocuments)
    try explaining { try watcher.run() }
  }
}
