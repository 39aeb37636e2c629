import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem

struct SetupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Connects this computer to the service.",
    discussion: """
      Asks for what is not given and not set yet, tries it out, and writes iampass.conf and credentials. What is there \
      already stays unless an option says otherwise; the old iampass.conf is kept beside as .bak, an old secret \
      nowhere. The secret is asked for without echo, or read from a file; it is never an argument.
      """)

  @OptionGroup var host: HostOptions
  @Option(help: "The service's address, https://…") var server: String?
  @Option(name: .customLong("application-id"), help: "The application's or host credential's id.")
  var applicationID: String?
  @Option(
    help: "File of root's alone that has the secret, or the lines that iampass-server printed.", completion: .file())
  var secretFile: String?
  @Option(help: "PEM file of the authority that alone is trusted for the service.", completion: .file()) var ca: String?
  @Flag(help: "Take a service that signs less of its replies than this computer has required so far.")
  var unsigned = false

  func run() throws {
    try reportingProblems {
      try requireRoot()
      try makeFolder()
      let interrupt = Interrupt()
      let before = try filesAtRest()
      // No question waits while the lock is held: others, and the end of a trial, need it.
      let (asked, trial) = try answersTried(interrupt)
      let lock = try AdminLock(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      if interrupt.isPending() { throw CommandProblem.interruptedUnchanged }
      guard files == before else { throw CommandProblem.changedMeanwhile }
      try SetupFiles(folder: host.folder, name: host.place.name, answers: asked, trial: trial).write()
      Terminal.say("next: \(nextCommands(asked.configuration, trial))")
      if asked.configuration.approvals == .service, trial.replies.signedTargets {
        Terminal.say(
          "hint: with approvals = verified, best with methods=device, this computer checks the phone's own signature; "
            + "see iampass.conf(5)")
      }
    }
  }

  /// The files that the answers go by, after the change of a killed command is finished.
  private func filesAtRest() throws(CommandProblem) -> [[UInt8]?] {
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    return files
  }

  private var files: [[UInt8]?] {
    [host.path, host.place.credentials].map { ProcessFile.read($0, limit: 64 * 1024) }
  }

  /// The next commands to run. They show how to import a token: a user may have a token and a phone from another
  /// computer, and a second token would be another user at the service.
  private func nextCommands(_ configuration: Configuration, _ trial: SetupTrial) -> String {
    // A trial begins only if nothing is on.
    guard Trial.canBegin else { return "iampassctl check" }
    let enable = SSHDropIn.nextCommand(trial: "10m")
    guard configuration.users == .file else { return enable }
    let own = trial.kind == .host ? " --credentials FILE" : ""
    return """
      iampassctl user add NAME\(own), iampassctl enroll NAME\(own), \(enable)
      hint: for users who have a phone by another computer: iampassctl user import FILE, in place of user add and enroll
      """
  }

  /// The answers, after the service has accepted them. Nothing is written before.
  private func answersTried(_ interrupt: Interrupt) throws(CommandProblem) -> (SetupAnswers, SetupTrial) {
    do throws(CommandProblem) {
      let asked = try SetupAnswers(self, prompt: Terminal.isInteractive ? Prompt(interrupt: interrupt) : nil)
      return (asked, try SetupTrial(asked, interrupt: interrupt))
    } catch {
      if error == .interrupted { throw .interruptedUnchanged }
      throw error
    }
  }

  private func makeFolder() throws(CommandProblem) {
    guard mkdir(host.folder, 0o755) == 0 || errno == EEXIST else {
      throw .file(FileError(.system(errno), path: host.folder))
    }
  }
}
