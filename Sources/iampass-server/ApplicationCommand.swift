import ArgumentParser
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
      The two lines are fit for /etc/iampass/credentials. The secret is not shown again. The service may be running.
      """)

  @Argument(help: "What phones show as the one who asks.")
  var name: String

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "dir"))
  var data: String

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode = MatchCodes.on

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() async throws {
    let application = try await explaining {
      let storage = try Storage(folder: data)
      do {
        return try await storage.createApplication(named: name, matchCodes: matchCode, at: .now())
      } catch let refusal as ApplicationRefusal {
        throw Problem(refusal, name: DisplayText.sanitized(name))
      }
    }
    print(CredentialLines.text(id: application.id, secret: application.secret, json: json))
  }
}

/// The one place where a new secret is shown: in the form of `/etc/iampass/credentials`, or as JSON.
enum CredentialLines {
  static func text(id: String, secret: Secret, json: Bool) -> String {
    let secret = secret.exposedValue
    guard json else { return "application_id = \(id)\napplication_secret = \(secret)" }
    let members: JSON = .object(["application_id": .string(id), "application_secret": .string(secret)])
    return String(decoding: members.encoded(), as: UTF8.self)
  }
}

struct ApplicationSet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change an application's settings.",
    discussion: "It holds for requests from now on. The service may be running.")

  @Argument(help: "The application's name.")
  var name: String

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "dir"))
  var data: String

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode: MatchCodes

  func run() async throws {
    try await explaining {
      let storage = try Storage(folder: data)
      do {
        try await storage.setMatchCodes(ofApplicationNamed: name, to: matchCode)
      } catch let refusal as ApplicationRefusal {
        throw Problem(refusal, name: DisplayText.sanitized(name))
      }
    }
    print("match codes of \(DisplayText.sanitized(name)) are \(matchCode.rawValue)")
  }
}
