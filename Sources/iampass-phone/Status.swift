import ArgumentParser
import CommandSupport
import DeviceProtocol
import Glibc
import IAMPASSProtocol

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show this phone's user and its sessions.")

  @OptionGroup var options: StateOption

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() throws {
    let phone = try RegisteredPhone(options, interrupt: Interrupt.ofPhone())
    try explaining {
      let reply = try DeviceStatusReply(parsing: try phone.ask(.status, DeviceRoute.status))
      let words = PhoneKeys(publicKey: try phone.state.key.publicKey.text, credential: nil).words
      PhoneTerminal.say(
        json ? asJSON(reply, phone.state, words) : asText(reply, phone.state, words, now: Int64(time(nil))))
    }
  }

  private func asJSON(_ reply: DeviceStatusReply, _ state: PhoneState, _ words: String) -> String {
    let members: JSON = .object([
      "server": .string(state.server.description), "application": .string(reply.application),
      "user": .string(reply.user), "presence": .string(reply.presence.rawValue),
      "sessions": .array(reply.sessions.map(\.json)), "words": .string(words),
    ])
    return members.printed()
  }

  private func asText(_ reply: DeviceStatusReply, _ state: PhoneState, _ words: String, now: Int64) -> String {
    let head = PhoneTerminal.table([
      ("user", reply.user), ("application", reply.application), ("service", state.server.description),
      ("words", words), ("presence", reply.presence.rawValue),
      ("sessions", reply.sessions.isEmpty ? "none" : "\(reply.sessions.count)"),
    ])
    let sessions = reply.sessions.map { session in
      "    \(DisplayText.sanitized(session.status.word)): \(session.context.summary), "
        + "since \(PhoneTerminal.duration(now - session.since)), ends in \(PhoneTerminal.duration(session.expires - now))"
    }
    return (["this phone", head] + sessions).joined(separator: "\n")
  }
}
