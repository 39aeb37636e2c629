import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct ConsoleLinkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "console-link", abstract: "Print a link that opens the console in one browser, once.",
    discussion: """
      For emergencies: administrators sign in by phone. It works for ten minutes. The service may be running. Whoever \
      has the link can do what you can.
      """)

  @OptionGroup var place: DatabaseOptions

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp(
      "The console's address for browsers (default: the address of the service's last start, or its --console-url).",
      valueName: "url"))
  var publicURL: String?

  func run() async throws {
    let given = try publicURL.map(ServerURL.init(ofOption:))
    let link = try await explaining {
      let storage = try place.existing()
      let known = try await storage.serviceAddress().flatMap { try? ServerURL($0) }
      guard let address = given ?? known else { throw CommandProblem.noAddress }
      return address.route(["console", "enter", try await storage.createConsoleLink(at: storage.now()).exposedValue])
    }
    try Output.say(link)
  }
}
