import ArgumentParser
import CommandSupport
import DeviceProtocol
import IAMPASSPhone

struct End: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End sessions of this phone's user: computers log them out.")

  @Argument(help: "Ids of sessions, as status --json shows them, or of uses that opened one.")
  var sessions: [String] = []

  @Flag(help: "End all sessions.")
  var all = false

  @OptionGroup var options: StateOption

  func validate() throws {
    guard all == sessions.isEmpty else { throw ValidationError("name sessions, or give --all") }
    guard Set(sessions).count <= EndStatement.greatestCount else {
      throw ValidationError("name at most \(EndStatement.greatestCount) sessions, or give --all")
    }
  }

  func run() throws {
    let phone = try RegisteredPhone(options, interrupt: Interrupt.ofPhone())
    let count = try explaining { all ? try endAll(by: phone) : try end(Set(sessions), by: phone) }
    PhoneTerminal.say("ended: \(count) \(count == 1 ? "session" : "sessions")")
  }

  private func endAll(by phone: RegisteredPhone) throws(PhoneError) -> Int {
    let status = try phone.status()
    var left = Set(status.sessions.map(\.session) + status.codesUsed.filter(\.isOpen).map(\.id))
    var count = 0
    while !left.isEmpty {
      let some = Set(left.prefix(EndStatement.greatestCount))
      count += try end(some, by: phone)
      left.subtract(some)
    }
    return count
  }

  private func end(_ sessions: Set<String>, by phone: RegisteredPhone) throws(PhoneError) -> Int {
    _ = try phone.end(sessions.sorted())
    return sessions.count
  }
}

struct Unregister: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give this phone's user up, and remove the state file.",
    discussion: "Sessions go on. The user has no phone until they register one with a new link.")

  @OptionGroup var options: StateOption

  func run() throws {
    let phone = try RegisteredPhone(options, interrupt: Interrupt.ofPhone())
    try explaining { try phone.unregister() }
    try StateFile(path: options.state).remove(phone.account)
    PhoneTerminal.say("unregistered: this phone approves nothing any more")
  }
}
