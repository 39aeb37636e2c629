import ArgumentParser
import HostState
import IAMPASSClient
import IAMPASSProtocol

struct UserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Gives users a token at the service, or lists them.",
    subcommands: [Add.self, List.self])

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Gives users a token, at the service and in the users file.",
      discussion: "A user who has one keeps it. Running it again repairs what was interrupted.")

    @OptionGroup var host: HostOptions
    @Flag(help: "Add users that this system does not know.") var force = false
    @Argument(help: "Names of users.") var users: [String]

    func run() throws {
      try reportingFailures {
        let host = try ConfiguredHost(host)
        for user in users { try add(user, host) }
      }
    }

    private func add(_ text: String, _ host: ConfiguredHost) throws(Failure) {
      guard let name = UnixUsername(validating: text) else { throw .badUsername(text) }
      let known = SystemUser(named: name)
      guard known != nil || force else { throw .unknownUser(name) }
      let user = known?.name ?? name
      guard let identifier = Digest.randomIdentifier() else { throw .service(.noRandomness) }
      let fresh = Secret(identifier)
      let editor = UserTokensEditor(path: host.usersPath)
      let token = try host.usersFile { () throws(UserTokensError) in try editor.token(of: user, orAdd: fresh) }
      do throws(Failure) {
        _ = try host.ask { (client, deadline) throws(ServiceError) in try client.addUsers([token], deadline: deadline) }
      } catch {
        // In both places or in neither: a token that was there before is left as it was.
        if token == fresh { try host.usersFile { () throws(UserTokensError) in try editor.remove(user, token: fresh) } }
        throw error
      }
      print(token == fresh ? "\(user): added" : "\(user): was there already")
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the users who have a token.")

    @OptionGroup var host: HostOptions
    @Flag(help: "Print a JSON array.") var json = false

    func run() throws {
      try reportingFailures {
        try requireRoot()
        let users = try users()
        if json {
          print(String(decoding: JSON.array(users.map { .string($0) }).encoded(), as: UTF8.self))
        } else {
          for user in users { print(DisplayText.sanitized(user)) }
        }
      }
    }

    /// None where there is no file yet.
    private func users() throws(Failure) -> [String] {
      let path = host.folder + "/users"
      do { return try UserTokens(path: path).users() } catch {
        if case .file(let file) = error, file.code == .missing { return [] }
        throw .misconfigured(.users(error, path: path), path: path)
      }
    }
  }
}
