import ArgumentParser
import CHost
import CPAM
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import PAMStacks

struct LoginTestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login-test", abstract: "Signs a user in through PAM, as a service would, and shows each step.",
    discussion: """
      Runs the service's own stacks: authenticate, account, open and close the session. The phone rings; passwords \
      typed here are real. Nothing is started for the user, and the session is closed at once. If the service is \
      not known, the command says what it saw, and how to make the service known.
      """)

  @Option(help: "The PAM service whose stacks are run.") var service = "sudo"
  @Option(help: ArgumentHelp("The folder of the PAM services' files.", visibility: .hidden))
  var pamFolder: String?
  /// Set if this process was started in its own unit.
  @Flag(help: .hidden) var inOwnUnit = false
  @Argument(help: "The user's name.") var user: String

  func validate() throws {
    guard !service.isEmpty, !service.hasPrefix("."), service.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x2F && $0 < 0x7F })
    else { throw ValidationError("--service takes the name of a file in /etc/pam.d") }
  }

  func run() throws {
    try reportingProblems {
      try requireRoot()
      guard let name = UnixUsername(validating: user) else { throw CommandProblem.badUsername(user) }
      let folder = pamFolder ?? PAMProfiles.folder
      guard PAMReader(folder: folder).has(service) else {
        throw CommandProblem.file(FileError(.missing, path: "\(folder)/\(service)"))
      }
      if OwnUnit.isNeeded(for: service), !inOwnUnit { OwnUnit.enter(service: service, user: user) }
      let configuration = (try? Configuration(path: Configuration.path)) ?? Configuration()
      let program = configuration.knows(service) ? nil : ServiceProgram.find(service)
      let standIn = try StandInFolder(for: service, in: folder)
      defer { withExtendedLifetime(standIn) {} }
      let signIn = try TestedSignIn(
        service: service, user: name, folder: standIn?.path ?? pamFolder,
        asSudo: configuration.isSudoLike(service) || program?.isSudo == true)
      let code = signIn.run()
      if let program, !signIn.wasInterrupted { propose(program, in: folder) }
      guard code == PAM_SUCCESS else { throw ExitCode(signIn.wasInterrupted ? Interrupt.exitCode : EX_NOPERM) }
    }
  }

  /// libpam has reported a stack that cannot be read.
  private func propose(_ program: ServiceProgram, in folder: String) {
    guard let session = try? PAMReader(folder: folder).stack("session", of: service) else { return }
    let proposal = ServiceProposal(service: service, session: session, program: program)
    for line in proposal.lines { Terminal.say(line.onOneLine) }
  }
}

/// logind does not give another session to a process that is already in one. So the test of a service with watched
/// sessions starts from a unit without a session, as a getty does.
enum OwnUnit {
  private static let systemdRun = "/usr/bin/systemd-run"

  static func isNeeded(for service: String) -> Bool {
    let configuration = try? Configuration(path: Configuration.path)
    guard configuration?.opensSession(service) ?? ServiceTable.opensSession(service),
      access("/run/systemd/system", F_OK) == 0, Program.exists(systemdRun)
    else { return false }
    let group = String(decoding: ProcessFile.read("/proc/self/cgroup", limit: 4_096) ?? [], as: UTF8.self)
    return group.contains(".scope") || group.contains("user@")
  }

  /// Replaces this process, and returns only if systemd-run cannot be started. The test then runs without a unit.
  static func enter(service: String, user: String) {
    guard let own = realpath("/proc/self/exe", nil) else { return }
    defer { free(own) }
    let tie = isatty(STDIN_FILENO) == 1 ? "--pty" : "--pipe"
    let noColor = getenv("NO_COLOR") == nil ? [] : ["--setenv=NO_COLOR=1"]
    let words =
      [systemdRun, "--quiet", tie, "--collect", "--wait", "--service-type=exec"] + noColor
      + [String(cString: own), "login-test", "--in-own-unit", "--service", service, "--", user]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    execv(systemdRun, &arguments)
    for text in arguments { free(text) }
  }
}
