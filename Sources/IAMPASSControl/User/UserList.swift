import ArgumentParser
import CommandSupport
import HostState
import IAMPASSProtocol

struct UserList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the users who have a token.")

  @OptionGroup var host: HostOptions
  @Flag(help: "Print a JSON array.") var json = false

  func run() throws {
    try reportingFailures {
      try requireRoot()
      let users = try users()
      if json { return Terminal.say(.array(users.map { .string($0) })) }
      // In one write: a terminal or pipe takes 100,000 lines better than 100,000 writes.
      if !users.isEmpty { Terminal.say(users.map { DisplayText.sanitized($0) }.joined(separator: "\n")) }
    }
  }

  /// None where there is no file yet.
  private func users() throws(Failure) -> [String] {
    let path = host.usersPath
    do { return try UserTokens(path: path).users() } catch {
      if case .file(let file) = error, file.code == .missing { return [] }
      throw .misconfigured(.users(error, path: path), path: path)
    }
  }
}
