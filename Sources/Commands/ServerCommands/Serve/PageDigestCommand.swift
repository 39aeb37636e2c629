import ArgumentParser
import IAMPASSServer

struct PageDigestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "page-digest", abstract: "Print the SHA-256 of each file of the phone's page.",
    discussion: """
      The paths are those below the service's address. Compare the lines with what a browser is served: whoever changed \
      the page could have it sign for them.
      """)

  func run() throws { try Output.say(PhonePageDigest.lines) }
}
