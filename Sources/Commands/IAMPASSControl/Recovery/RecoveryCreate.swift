import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

struct RecoveryCreate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Makes ten recovery codes, and shows them once.",
    discussion: """
      Write them down, away from this computer: nobody can show them again. They replace the user's earlier codes on \
      this computer. Ctrl-C before the last line leaves the earlier ones as they are.
      """)

  @OptionGroup var host: HostOptions
  @Flag(help: "Show them also where standard output is not a terminal.") var anyOutput = false
  @Option(help: ArgumentHelp("Print them sealed, for the key of \"recovery collect\".", valueName: "key"))
  var sealedFor: String?
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let receiver = try sealedFor.map { (text) throws(CommandProblem) in try Self.receiver(text) }
      guard anyOutput || receiver != nil || isatty(STDOUT_FILENO) == 1 else { throw CommandProblem.codesNeedTerminal }
      let interrupt = Interrupt()
      let name = try UnixUsername(typed: user)
      guard let system = try SystemUser.look(for: name) else { throw CommandProblem.unknownUser(name) }
      try requireToken(of: system)
      let codes = try host.recoveryCodes()
      do {
        let drawn = try codes.draw(for: system, at: Int64(time(nil)))
        if let receiver {
          let computer = RecordedSessions.hostName() ?? "localhost"
          Terminal.say(try SealedCodes(computer: computer, user: name, codes: drawn.codes).sealed(for: receiver))
        } else {
          Self.show(drawn.codes)
        }
        // Codes that were not completely shown would be lost.
        if let number = Terminal.outputError { throw CommandProblem.outputLost(number) }
        if interrupt.isPending() { throw CommandProblem.interruptedUnchanged }
        try keep(drawn.set, codes)
      } catch let error as RecoveryError { throw CommandProblem.recovery(error) }
      Terminal.say("\(name): these codes serve from now on, each once, on this computer only")
      sayWhere()
    }
  }

  /// Keeps the set under the lock: two commands at once would remove each other's uses. No prompt waits while the lock
  /// is held.
  private func keep(_ set: RecoverySet, _ codes: RecoveryCodes) throws {
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    try codes.keep(set)
  }

  /// Throws for a user without a token, whose codes would never be accepted.
  private func requireToken(of user: SystemUser) throws(CommandProblem) {
    let token: Secret?
    do throws(Misconfiguration) {
      token = try HostSetup(path: host.path).token(of: user.name, known: user)
    } catch {
      if case .users(.file(let file), _) = error, file.code == .missing { throw .noToken(user.name) }
      throw .misconfigured(error, path: host.path)
    }
    guard token != nil else { throw .noToken(user.name) }
  }

  private static func receiver(_ text: String) throws(CommandProblem) -> SealedCodes.Receiver {
    guard let receiver = SealedCodes.Receiver(text) else { throw .collect(.badKey) }
    return receiver
  }

  static func show(_ codes: [RecoveryCode]) {
    for (place, code) in codes.enumerated() {
      let number = place < 9 ? " \(place + 1)" : "\(place + 1)"
      Terminal.say("  \(number)  \(code.exposedText)")
    }
  }

  private func sayWhere() {
    guard let configuration = try? host.configuration() else { return }
    let services = configuration.services.filter(configuration.offlineMethods.takesCodes)
    if services.isEmpty {
      Terminal.complain("iampassctl: no PAM service takes recovery codes yet")
      Terminal.complain("hint: set methods_offline = recovery in \(host.path)")
    }
  }
}
