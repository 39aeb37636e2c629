import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// `iampass-server`, which its program starts by ``main()``.
public struct ServerCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "iampass-server",
    abstract: "An IAMPASS-compatible sign-in service of your own.",
    version: ProductVersion.text,
    subcommands: [
      SetupCommand.self, Serve.self, CertificateCommand.self, ApplicationCommand.self, HostCredentialCommand.self,
      ComputerCommand.self, OpenIDClientCommand.self, JoinCodeCommand.self, UserCommand.self, AdministratorCommand.self,
      HelpdeskCommand.self, BackupCommand.self,
      AuditCommand.self, ConsoleLinkCommand.self, PageDigestCommand.self, SigningKeyCommand.self, DatabaseCommand.self,
    ])

  public init() {}

  /// Prepares the process. Call it before ``main()``, while there is one thread.
  public static func prepare() {
    // libdispatch asks for threads of other priorities, which a confined service may not have, and logs each refusal.
    setenv("LIBDISPATCH_LOG", "NO", 0)
  }

  /// Runs the command that the arguments name, and ends the process.
  public static func main() async {
    do { try await runCommand() } catch let problem as CommandProblem {
      problem.report(by: "iampass-server")
      Self.exit(withError: ExitCode(problem.exitCode))
    } catch {
      Self.exit(withError: error)
    }
  }

  private static func runCommand() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    if let problem = CommandProblem.unknownCommand(in: words, of: Self.self) { throw problem }
    do {
      try await AuditActor.$current.withValue(CallingUser.actor()) {
        var command = try parseAsRoot()
        if var asynchronous = command as? any AsyncParsableCommand {
          try await asynchronous.run()
        } else {
          try command.run()
        }
      }
    } catch  where exitCode(for: error) == .success {
      // Help, versions and completions: the library would not check that they were written.
      try Output.say(fullMessage(for: error))
    }
  }
}
