import ArgumentParser
import CHost
import CommandSupport
import Glibc
import IAMPASSProtocol

/// `iampassctl`, with all its verbs.
public struct ControlCommand: ParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "iampassctl",
    abstract: "Sets up sign-in by phone on this computer.",
    discussion: "Keep a root shell open while you change how this computer signs people in.",
    version: ProductVersion.text,
    subcommands: [
      JoinCommand.self, SetupCommand.self, CheckCommand.self, StatusCommand.self, EnableCommand.self,
      DisableCommand.self, UserCommand.self, EnrollCommand.self, LostDeviceCommand.self, PhoneCommand.self,
      LoginTestCommand.self, SessionCommand.self, AuditCommand.self, PresenceCommand.self, KeyringCommand.self,
      RecoveryCommand.self, TrialEndCommand.self,
    ])

  public init() {}

  /// Runs the command and ends the process.
  public static func main() {
    // A dump would have the application's secret.
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0 else {
      Terminal.complain("iampassctl: core dumps cannot be forbidden")
      Glibc.exit(EX_OSERR)
    }
    // Swift reads the arguments there. Without them every command would print its help and exit with 0.
    guard access("/proc/self/cmdline", R_OK) == 0 else {
      Terminal.complain("iampassctl: /proc is not mounted")
      Terminal.complain("hint: mount -t proc proc /proc")
      Glibc.exit(EX_OSERR)
    }
    let words = Array(CommandLine.arguments.dropFirst())
    if let problem = CommandProblem.unknownCommand(in: words, of: Self.self) {
      problem.report(by: "iampassctl")
      Glibc.exit(problem.exitCode)
    }
    main(nil)
  }
}
