import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSPhone
import IAMPASSProtocol

struct Offline: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Approve a sign-in on a computer without a network.",
    discussion: "Shows the request of the link, and after your yes the eight digits to type there. Needs no network.")

  enum Answer: String, ExpressibleByArgument, CaseIterable {
    case approve, deny, ask
  }

  @Argument(help: "The link that the computer shows, in quotes.")
  var link: String

  @OptionGroup var options: StateOption

  @Option(help: "Approve, deny, or ask at the terminal.")
  var answer = Answer.ask

  func run() throws {
    let interrupt = Interrupt.ofPhone()
    let account = try StateFile(path: options.state).readWithAgreementKey()
    let challenge = try challenge(account)
    PhoneTerminal.say(challenge.description(application: account.application, now: Int64(time(nil))))
    guard challenge.method == .acceptance || answer == .deny else { throw CommandProblem.needsUnlockedPhone }
    guard try isApproved(interrupt) else { return PhoneTerminal.say("denied: there are no digits for it") }
    let digits = try explaining { try account.offlineDigits(for: challenge) }
    PhoneTerminal.say("type on the computer: \(digits.exposedText)")
  }

  private func challenge(_ account: PhoneAccount) throws(CommandProblem) -> OfflineChallenge {
    do { return try account.offlineChallenge(in: link) } catch {
      switch error {
      case .notALink: throw .notAnOfflineLink
      case .otherService(let address): throw .linkOfAnotherService(address, account.server.description)
      }
    }
  }

  private func isApproved(_ interrupt: Interrupt) throws -> Bool {
    switch answer {
    case .approve: return true
    case .deny: return false
    case .ask: break
    }
    let questions = Questions()
    questions.forgetWhatWasTyped()
    while true {
      let reply = questions.ask("approve? [y/n] ") {
        // A user who does not answer in this time could not type the digits in time either.
        interrupt.wait(milliseconds: 120_000, input: STDIN_FILENO)
      }
      switch reply {
      case .line(let line) where ["y", "yes"].contains(line.lowercased()): return true
      case .line(let line) where ["n", "no"].contains(line.lowercased()): return false
      case .line: continue
      case .interrupted: throw ExitCode(Interrupt.exitCode)
      case .timeOver, .nobody:
        PhoneTerminal.say("")
        return false
      }
    }
  }
}

extension OfflineChallenge {
  /// Everything that the computer has sent about itself and the sign-in.
  fileprivate func description(application: String, now: Int64) -> String {
    let age = now - time
    let words =
      age >= 0
      ? "\(PhoneTerminal.duration(age)) ago, by the computer's clock"
      : "in \(PhoneTerminal.duration(-age)), by the computer's clock"
    let cut = context.longCommand == nil ? [] : [("left out", "the middle of the command, which is too long")]
    return "sign-in without a network\n"
      + PhoneTerminal.table([("application", application)] + context.rows + cut + [("asked", words)])
  }
}
