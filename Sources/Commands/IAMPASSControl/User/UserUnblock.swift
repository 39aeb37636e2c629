import ArgumentParser
import CommandSupport
import HostState
import HostSystem

struct UserUnblock: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unblock", abstract: "Lets a user's requests through that this computer's limits hold back.",
    discussion: """
      Forgets which requests of the user were denied or not answered, and which codes were wrong, from every terminal \
      and address. Ask the user first: if somebody else made these requests, that person can go on, too. The service \
      counts denials for itself; its administrator lifts those by iampass-server helpdesk unblock, or in the console.
      """)

  @OptionGroup var host: HostOptions
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      let configured = try ConfiguredHost(path: host.path, credentials: nil)
      let name = try configured.enrolledForSignIn(user).name
      do throws(FileError) { try LiftedAttempts(run: configured.setup.run).lift(name) } catch {
        throw CommandProblem.file(error)
      }
      Terminal.say("\(name): this computer holds nothing back")
      Terminal.say("what the service holds back: iampass-server helpdesk unblock APPLICATION \(name), or its console")
    }
  }
}
