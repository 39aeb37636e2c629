import ArgumentParser
import CommandSupport
import HostState
import IAMPASSProtocol

struct UserList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the users who have a token.")

  @OptionGroup var host: HostOptions
  @Flag(help: "Print a JSON array.") var json = false

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let users = try users()
      if json { return Terminal.say(.array(users.map { .string($0) })) }
      // This is one write, because 100,000 writes would be slow.
      if !users.isEmpty { Terminal.say(users.map { DisplayText.sanitized($0) }.joined(separator: "\n")) }
    }
  }

  /// The users in the file. With `users = service` also those whom the service lists.
  private func users() throws(CommandProblem) -> [String] {
    let own = try usersOfFile()
    guard let setup = try? HostSetup(path: host.path), setup.configuration.users == .service,
      let credential = try? setup.credential(),
      let listed = ServiceUsers(path: setup.serviceUsersPath, credential: credential.applicationID)
    else { return own }
    let known = Set(own)
    return own + listed.tokens.keys.filter { !known.contains($0) }.sorted()
  }

  /// The users in the file; none if there is no file yet.
  private func usersOfFile() throws(CommandProblem) -> [String] {
    let path = host.usersPath
    do { return try UserTokens(path: path).users() } catch {
      if case .file(let file) = error, file.code == .missing { return [] }
      throw .misconfigured(.users(error, path: path), path: path)
    }
  }
}
