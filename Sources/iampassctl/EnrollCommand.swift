import ArgumentParser
import HostState
import IAMPASSClient
import IAMPASSProtocol

struct EnrollCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enroll", abstract: "Prints the link by which a user's phone registers, once.")

  @OptionGroup var host: HostOptions
  @Option(help: "How the phone names the user.") var displayName: String?
  @Flag(help: "Print a JSON object.") var json = false
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingFailures {
      let host = try ConfiguredHost(host)
      guard let name = UnixUsername(validating: user) else { throw Failure.badUsername(user) }
      let canonical = SystemUser(named: name)?.name ?? name
      let token = try host.usersFile { () throws(UserTokensError) in
        try UserTokens(path: host.usersPath).token(of: canonical)
      }
      guard let token else { throw Failure.noToken(canonical) }
      let link = try link(token, canonical, host)
      if json {
        let answer = JSON.object(["user": .string(canonical.text), "register_url": .string(link)])
        print(String(decoding: answer.encoded(), as: UTF8.self))
      } else {
        print("Open this link on \(canonical)'s phone; it works once:")
        print(DisplayText.sanitized(link, limit: 2_048))
      }
    }
  }

  private func link(_ token: Secret, _ name: UnixUsername, _ host: ConfiguredHost) throws(Failure) -> String {
    try host.ask { (client, deadline) throws(ServiceError) in
      try client.deviceRegistrationLink(token: token, displayName: displayName ?? name.text, deadline: deadline)
    }
  }
}
