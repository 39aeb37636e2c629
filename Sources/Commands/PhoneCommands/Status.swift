import ArgumentParser
import CommandSupport
import DeviceProtocol
import Glibc
import IAMPASSPhone
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
      let reply = try phone.status()
      let words = try phone.account.words()
      PhoneTerminal.say(
        json ? asJSON(reply, phone.account, words) : asText(reply, phone.account, words, now: Int64(time(nil))))
    }
  }

  private func asJSON(_ reply: DeviceStatusReply, _ account: PhoneAccount, _ words: String) -> String {
    let members: JSON = .object([
      "server": .string(account.server.description), "application": .string(reply.application),
      "user": .string(reply.user), "presence": .string(reply.presence.rawValue),
      "sessions": .array(reply.sessions.map(\.json)), "codes_used": .array(reply.codesUsed.map(\.json)),
      "words": .string(words),
      "phones": .array(reply.phones.map { .string($0.name) }),
    ])
    return members.printed()
  }

  private func asText(_ reply: DeviceStatusReply, _ account: PhoneAccount, _ words: String, now: Int64) -> String {
    let head = PhoneTerminal.table([
      ("user", reply.user), ("application", reply.application), ("service", account.server.description),
      ("words", words), ("presence", reply.presence.rawValue),
      ("sessions", reply.sessions.isEmpty ? "none" : "\(reply.sessions.count)"),
    ])
    let sessions = reply.sessions.map { session in
      "    \(DisplayText.sanitized(session.status.word)): \(session.context.summary), "
        + "since \(PhoneTerminal.duration(now - session.since)), ends in \(PhoneTerminal.duration(session.expires - now))"
        + (session.approvedOn.map { ", approved on \(DisplayText.sanitized($0, limit: 64))" } ?? "")
        + " (session \(PhoneTerminal.short(session.session)))"
    }
    let uses = reply.codesUsed.map { "    \(PhoneTerminal.line(of: $0))" }
    let others = reply.phones.filter { !$0.isThis }.map { phone in
      "another phone: \(DisplayText.sanitized(phone.name, limit: 64)), "
        + "registered \(PhoneTerminal.duration(now - phone.since)) ago"
    }
    let helped = reply.byLocums.map { approval in
      "approved for you by \(DisplayText.sanitized(approval.name, limit: 64)): \(approval.context.summary), "
        + "\(PhoneTerminal.duration(now - approval.at)) ago"
    }
    return (["this phone", head] + sessions + others + helped + uses).joined(separator: "\n")
  }
}
