import ArgumentParser
import CommandSupport
import HostState
import HostSystem

struct PhoneForget: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Ends this computer's trust in a user's phones.",
    discussion: "The service keeps the phone: lost-device cuts it off there, too.")

  @OptionGroup var host: HostOptions
  @Option(help: ArgumentHelp("One phone only: its id, or as much of the beginning as is unique.", valueName: "id"))
  var phone: String?
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let name = try UnixUsername(typed: user)
      let id = try phone.map { (text) throws(CommandProblem) in try self.id(beginning: text, of: name) }
      guard try host.pins.forget(name, phone: id) else { throw CommandProblem.notPinned(name, phone: phone) }
      Terminal.say(
        "\(name): this computer no longer trusts " + (id == nil ? "any phone of this user" : "that phone"))
    }
  }

  private func id(beginning text: String, of user: UnixUsername) throws(CommandProblem) -> String {
    let ids = try host.pins.phones(of: user).map(\.id)
    if ids.contains(text) { return text }
    let matching = ids.filter { !text.isEmpty && $0.hasPrefix(text) }
    guard matching.count == 1, let id = matching.first else { throw .notPinned(user, phone: text) }
    return id
  }
}
