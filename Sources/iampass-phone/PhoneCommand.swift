import ArgumentParser
import IAMPASSProtocol

@main
struct PhoneCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "iampass-phone",
    abstract: "The phone's side of IAMPASS as a command: register, answer, leave, return.",
    version: ProductVersion.text,
    subcommands: [Register.self, Watch.self, Leave.self, Return.self, Status.self])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let problem as PhoneProblem {
      problem.report()
      exit(withError: ExitCode(problem.exitCode))
    } catch  where exitCode(for: error) == .success {
      // Help and versions: the library would not look whether they are written.
      Terminal.say(fullMessage(for: error))
    } catch {
      exit(withError: error)
    }
  }
}

/// What every command but `register` needs.
struct StateOption: ParsableArguments {
  @Option(help: ArgumentHelp("The file that holds this phone's key.", valueName: "file"), completion: .file())
  var state: String

  @Option(help: .hidden)
  var worker: String?
}
