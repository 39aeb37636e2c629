import ArgumentParser
import DeviceProtocol

struct Leave: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say that the phone leaves: its sessions walk away.")

  @OptionGroup var options: StateOption

  func run() throws { Terminal.say("left: " + (try Presence.change(.leave, options))) }
}

struct Return: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say that the phone is back: its sessions are active again.")

  @OptionGroup var options: StateOption

  func run() throws { Terminal.say("returned: " + (try Presence.change(.return, options))) }
}

extension Presence {
  /// How many sessions follow, in words.
  fileprivate static func change(_ purpose: DevicePurpose, _ options: StateOption) throws -> String {
    let phone = try RegisteredPhone(options, interrupt: Interrupt())
    return try explaining {
      let reply = try DeviceStatusReply(parsing: try phone.ask(purpose, DeviceRoute.presence))
      let status = purpose == .leave ? "walkaway" : "active"
      let count = reply.sessions.count { $0.status.word == status }
      return "\(count) \(count == 1 ? "session is" : "sessions are") \(status)"
    }
  }
}
