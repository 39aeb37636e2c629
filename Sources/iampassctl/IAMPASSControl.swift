import ArgumentParser
import CHost
import Glibc
import IAMPASSProtocol

@main
struct IAMPASSControl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "iampassctl",
    abstract: "Sets up sign-in by phone on this computer.",
    discussion: "Keep a root shell open while you change how this computer signs people in.",
    version: ProductVersion.text,
    subcommands: [
      SetupCommand.self, CheckCommand.self, EnableCommand.self, DisableCommand.self, UserCommand.self,
      EnrollCommand.self, LostDeviceCommand.self, LoginTestCommand.self, SessionCommand.self, TrialEndCommand.self,
    ])

  static func main() {
    // A dump would hold the application's secret.
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0 else {
      Terminal.complain("iampassctl: core dumps cannot be forbidden")
      Glibc.exit(EX_OSERR)
    }
    main(nil)
  }
}
