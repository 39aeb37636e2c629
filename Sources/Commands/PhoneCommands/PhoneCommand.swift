import ArgumentParser
import CommandSupport
import IAMPASSProtocol

/// `iampass-phone`, which its program starts by ``main()``.
public struct PhoneCommand: ParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "iampass-phone",
    abstract: "The phone's side of IAMPASS as a command: register, answer, leave, return, end.",
    version: ProductVersion.text,
    subcommands: [
      Register.self, Watch.self, Offline.self, Leave.self, Return.self, Status.self, End.self, Unregister.self,
    ])

  public init() {}

  /// Runs the command that the arguments name, and ends the process.
  public static func main() {
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      if let problem = CommandProblem.unknownCommand(in: words, of: Self.self) { throw problem }
      var command = try parseAsRoot()
      try command.run()
    } catch let problem as CommandProblem {
      problem.report(by: "iampass-phone")
      exit(withError: ExitCode(problem.exitCode))
    } catch  where exitCode(for: error) == .success {
      // The library would print help and versions without checking that they were written.
      PhoneTerminal.say(fullMessage(for: error))
    } catch {
      exit(withError: error)
    }
  }
}

/// The options of every command except `register`.
struct StateOption: ParsableArguments {
  @Option(help: ArgumentHelp("The file that holds this phone's key.", valueName: "file"), completion: .file())
  var state: String

  @Option(help: .hidden)
  var worker: String?
}
