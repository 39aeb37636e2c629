import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct ApplicationCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "application", abstract: "Manage the applications of the service.",
    subcommands: [ApplicationCreate.self, ApplicationSet.self])
}

extension MatchCodes: ExpressibleByArgument {}

struct ApplicationCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make an application and print its credentials, this one time.",
    discussion: """
      The lines are a file for iampassctl setup --secret-file. The secret is not shown again. The service may be \
      running.
      """)

  @Argument(help: "What phones show as the one who asks.")
  var name: String

  @OptionGroup var place: DatabaseOptions

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode = MatchCodes.on

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() async throws {
    try await explaining {
      let storage = try place.openedOrMade()
      do {
        // First: what fails once there is a secret must take it back.
        let server = try await storage.publicAddress()
        let application = try await storage.createApplication(named: name, matchCodes: matchCode, at: storage.now())
        let credential = NewCredential(id: application.id, secret: application.secret, server: server, host: nil)
        try await CredentialLines.show(credential, id: application.id, json: json) {
          try await storage.takeBack(application, at: storage.now())
        }
      } catch let refusal as ApplicationRefusal {
        throw CommandProblem(refusal, name: DisplayText.sanitized(name))
      }
    }
  }
}

/// The only place that shows a new secret: as lines of a file, or as JSON.
enum CredentialLines {
  /// Prints it. If that fails, the secret is lost, and `takeBack` undoes what was made with it.
  static func show(
    _ credential: NewCredential, id: String, json: Bool, takeBack: () async throws -> Void
  ) async throws {
    // Otherwise a reader that is gone would end the process before that.
    signal(SIGPIPE, SIG_IGN)
    let text = json ? String(decoding: credential.json.encoded(), as: UTF8.self) : credential.text
    guard let failure = Output.write([text]) else { return }
    do { try await takeBack() } catch { throw CommandProblem.secretLost(failure, id: id) }
    throw CommandProblem.secretNotPrinted(failure)
  }
}

struct ApplicationSet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change an application's settings.",
    discussion: "It holds for requests from now on. The service may be running.")

  @Argument(help: "The application's name.")
  var name: String

  @OptionGroup var place: DatabaseOptions

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode: MatchCodes

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      do {
        try await storage.setMatchCodes(ofApplicationNamed: name, to: matchCode)
      } catch let refusal as ApplicationRefusal {
        throw CommandProblem(refusal, name: DisplayText.sanitized(name))
      }
    }
    try Output.say("match codes of \(DisplayText.sanitized(name)) are \(matchCode.rawValue)")
  }
}
