import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct HelpdeskCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "helpdesk", abstract: "Help users who have no phone at hand, or whose requests are held back.",
    subcommands: [HelpdeskApprove.self, HelpdeskUnblock.self])
}

struct HelpdeskApprove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve", abstract: "Let an administrator's phone answer a user's next sign-in, once.",
    discussion: """
      The sign-in must begin within two minutes. The administrator's phone is asked beside the user's own, and only \
      computers take its approval that verify approvals and trust the phone with this role: iampassctl phone trust \
      --locum. The audit and the user's phones show it. The service may be running.
      """)

  @Argument(help: "The application's name or id.") var application: String
  @Argument(help: "The user's Unix name on the application's list, or the user's id.") var user: String
  @Option(help: ArgumentHelp("The administrator, in the same way.", valueName: "user")) var by: String
  @Option(help: ArgumentHelp("Which phone, if the administrator has two: its name or id.", valueName: "name"))
  var phone: String?
  @OptionGroup var place: DatabaseOptions

  func run() async throws {
    let allowed = try await explaining {
      let storage = try place.existing()
      do {
        return try await storage.allowLocum(
          LocumOrder(application: application, user: user, administrator: by, phone: phone), at: storage.now())
      } catch let refusal as LocumRefusal {
        throw CommandProblem(refusal, self, known: await storage.knownApplications())
      }
    }
    let name = DisplayText.sanitized(allowed.administrator, limit: 64)
    try Output.say([
      "the phone of \(name) may answer the next sign-in of \(DisplayText.sanitized(user, limit: 64)), "
        + "if it begins within \(allowed.lifetime / 60) minutes"
    ])
  }
}

extension CommandProblem {
  fileprivate init(_ refusal: LocumRefusal, _ command: HelpdeskApprove, known: [String]) {
    let user = DisplayText.sanitized(command.user, limit: 64)
    let by = DisplayText.sanitized(command.by, limit: 64)
    switch refusal {
    case .unknownApplication:
      self.init(ApplicationRefusal.nameUnknown, name: DisplayText.sanitized(command.application), known: known)
    case .unknownUser: self = .applicationLacks(user: command.user)
    case .unknownAdministrator: self = .applicationLacks(user: command.by)
    case .samePerson: self.init(message: "nobody answers for themselves", hint: nil, exitCode: EX_USAGE)
    case .userHasNoPhone:
      self.init(
        message: "\(user) has no phone, so that computers do not know them", hint: "register one: iampassctl enroll",
        exitCode: EX_UNAVAILABLE)
    case .administratorHasNoPhone: self.init(message: "\(by) has no phone", hint: nil, exitCode: EX_UNAVAILABLE)
    case .severalPhones(let names):
      let list = names.map { DisplayText.sanitized($0, limit: 64) }.joined(separator: ", ")
      self.init(message: "\(by) has several phones: \(list)", hint: "--phone NAME", exitCode: EX_USAGE)
    case .tooOften:
      self.init(
        message: "\(user) was helped three times within a day",
        hint: "iampassctl lost-device, for a phone that stays away",
        exitCode: EX_TEMPFAIL)
    }
  }
}

struct HelpdeskUnblock: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unblock", abstract: "Let a user's requests reach the phone again, after too many denials.",
    discussion: """
      Three denials or wrong answers within ten minutes close the terminal or address that they came from to this user, \
      for 15 minutes; so does a report that it was somebody else. Ask the user first: if it was a stranger, the stranger \
      can go on, too. The audit shows it. The service may be running.
      """)

  @Argument(help: "The application's name or id.") var application: String
  @Argument(help: "The user's Unix name on the application's list, or the user's id.") var user: String
  @OptionGroup var place: DatabaseOptions

  func run() async throws {
    let lifted = try await explaining {
      let storage = try place.existing()
      do {
        return try await storage.liftBlocks(of: user, of: application, at: storage.now())
      } catch let refusal as UserListRefusal {
        guard refusal == .unknownApplication else { throw CommandProblem.applicationLacks(user: user) }
        throw CommandProblem(
          ApplicationRefusal.nameUnknown, name: DisplayText.sanitized(application),
          known: await storage.knownApplications())
      }
    }
    let name = DisplayText.sanitized(user, limit: 64)
    guard !lifted.isEmpty else { return try Output.say("\(name): the service holds nothing back") }
    try Output.say([
      "\(name): requests reach the phone again",
      "forgotten: denials and wrong answers \(lifted.denials), reported places \(lifted.reportedSources)",
    ])
  }
}

extension CommandProblem {
  fileprivate static func applicationLacks(user: String) -> CommandProblem {
    CommandProblem(
      message: "the application has no user \(DisplayText.sanitized(user, limit: 64))", hint: nil, exitCode: EX_NOUSER)
  }
}
