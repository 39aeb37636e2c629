import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct UserSign: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign", abstract: "Have an administrator's phone sign the list of users.",
    discussion: "Computers take changes only then, if they have joined by a code that names administrators.")

  /// The most changes that are printed.
  private static let shownChanges = 50

  @Argument(help: "The application's name or id (default: all).") var application: String?
  @Option(name: .customLong("as"), help: ArgumentHelp("Whose phone signs.", valueName: "name"))
  var administrator: String?
  @OptionGroup var place: DatabaseOptions

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      let wait = SignatureWait(storage: storage)
      let name = try await wait.administrator(administrator)
      let lists = try await storage.signingState().lists.filter { list in
        application.map { $0 == list.name || $0 == list.application } ?? true
      }
      guard !lists.isEmpty else {
        throw CommandProblem(
          message: "there is no list of users to sign", hint: "iampass-server user add puts users on one",
          exitCode: EX_NOINPUT)
      }
      for list in lists {
        let shown = DisplayText.sanitized(list.name)
        guard !list.isSigned else {
          try Output.say("\(shown): everything is signed")
          continue
        }
        try Output.say(list.changes.prefix(Self.shownChanges).map { "\(shown): \($0.text)" })
        let further = list.changes.count - Self.shownChanges
        if further > 0 { try Output.say("\(shown): and \(further) more") }
        let outcome = try await wait.sign(.users(application: list.application), by: name)
        if let problem = CommandProblem(outcome, by: name) { throw problem }
        try Output.say("\(shown): signed")
      }
    }
  }
}
