import ArgumentParser
import CommandSupport
import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol

struct Leave: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say that the phone leaves: its sessions become walkaway.")

  @OptionGroup var options: StateOption

  func run() throws {
    let phone = try RegisteredPhone(options, interrupt: Interrupt.ofPhone())
    let reply = try explaining { try phone.leave() }
    guard reply.walksAway || reply.sessions.contains(where: { $0.status == .walkaway }) else {
      throw CommandProblem.nobodyWalksAway(from: reply.application)
    }
    PhoneTerminal.say("left: " + reply.count(.walkaway))
  }
}

struct Return: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say that the phone is back: its sessions are active again.")

  @OptionGroup var options: StateOption

  func run() throws {
    let phone = try RegisteredPhone(options, interrupt: Interrupt.ofPhone())
    PhoneTerminal.say("returned: " + (try explaining { try phone.comeBack() }).count(.active))
  }
}

extension DeviceStatusReply {
  /// The number of sessions with a status, in words.
  fileprivate func count(_ status: SessionStatus) -> String {
    let count = sessions.count { $0.status == status }
    return "\(count) \(count == 1 ? "session is" : "sessions are") \(status.word)"
  }
}
