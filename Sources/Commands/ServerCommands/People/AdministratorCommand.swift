import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct AdministratorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "administrator", abstract: "Manage who may use the console, and as what.",
    discussion: """
      An administrator signs in to the console by phone. An auditor reads. Helpdesk also cares for users' phones, links \
      and sessions. An admin may do everything. The service may be running.
      """,
    subcommands: [
      AdministratorAdd.self, AdministratorSetRole.self, AdministratorList.self, AdministratorRemove.self,
      AdministratorLink.self, AdministratorStartSigning.self, AdministratorSign.self, AdministratorRecoveryKey.self,
      AdministratorFirstSigners.self,
    ])
}

extension AdministratorRole: ExpressibleByArgument {}

struct AdministratorOptions: ParsableArguments {
  @Argument(help: "The administrator's name, as it is typed to sign in.")
  var name: String

  @OptionGroup var place: DatabaseOptions

  var shown: String { DisplayText.sanitized(name) }

  /// Throws for a change that was refused.
  ///
  /// - Parameter seal: where to find the keys of sealed secrets, if `work` may make a secret.
  func changing(
    by seal: SealOptions? = nil, _ work: (any OperatorStore) async throws -> AdministratorChange
  ) async throws {
    try await explaining {
      let storage = try place.existing(by: seal?.keys())
      let change = try await work(storage)
      guard change == .done else {
        throw CommandProblem(change, name: shown, known: await storage.knownAdministrators())
      }
    }
  }

  func showLink(isLost: Bool) async throws {
    try await explaining {
      let storage = try place.existing()
      var address = try await storage.publicAddress()
      if address == nil { address = try await storage.serviceAddress() }
      guard let address else { throw CommandProblem.noAddress }
      switch try await storage.invitation(ofAdministrator: name, isLost: isLost, at: storage.now()) {
      case .unknown: throw CommandProblem(.unknown, name: shown, known: await storage.knownAdministrators())
      case .hasPhone: throw CommandProblem.administratorHasPhone(shown)
      case .code(let code):
        let link = try ServerURL(ofOption: address).route(["register", code.exposedValue])
        try Output.say("\(shown): open this link on their phone, within 15 minutes; it works once:")
        TerminalCode.show(link)
        try Output.say("  " + link)
      }
    }
  }
}

struct AdministratorAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add an administrator, and show a link for their phone.")

  @OptionGroup var options: AdministratorOptions
  @OptionGroup var seal: SealOptions
  @Option(help: "What they may do: auditor, helpdesk or admin.") var role: AdministratorRole
  @Flag(help: "Show no link.") var noLink = false

  func run() async throws {
    // The first one makes the administrators' application.
    try await options.changing(by: seal) { try await $0.addAdministrator(options.name, role: role, at: $0.now()) }
    try Output.say("\(options.shown): added as \(role.rawValue)")
    if !noLink { try await options.showLink(isLost: false) }
  }
}

struct AdministratorSetRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Give an administrator another role.",
    discussion: "It holds from the next request on, also for browsers that have signed in.")

  @OptionGroup var options: AdministratorOptions
  @Option(help: "What they may do: auditor, helpdesk or admin.") var role: AdministratorRole

  func run() async throws {
    try await options.changing {
      try await $0.setAdministrator(options.name, role: role, keepsOne: false, at: $0.now())
    }
    try Output.say("\(options.shown): is \(role.rawValue) now")
  }
}

struct AdministratorRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove an administrator with phone and sessions.",
    discussion: "Without any admin, iampass-server console-link is the only way to settings.")

  @OptionGroup var options: AdministratorOptions

  func run() async throws {
    try await options.changing { try await $0.removeAdministrator(options.name, keepsOne: false, at: $0.now()) }
    try Output.say("\(options.shown): removed")
  }
}

struct AdministratorList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the administrators, their roles and phones, and the keys that sign.")

  @OptionGroup var place: DatabaseOptions

  func run() async throws {
    let (all, state, now) = try await explaining {
      let storage = try place.existing()
      return (try await storage.administrators(), try await storage.signingState(), storage.now())
    }
    try Output.say(
      all.map { one in
        "\(DisplayText.sanitized(one.name))  \(one.role.rawValue)  \(one.phone == nil ? "no phone" : "phone")"
      })
    if let set = state.set { try Output.say(SigningText.lines(of: set)) }
    for line in SigningText.unsigned(state, at: now) { Notice.tell(line) }
  }
}

struct AdministratorLink: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Show a new link for an administrator's phone.")

  @OptionGroup var options: AdministratorOptions
  @Flag(help: "Cut off the phone that is lost, and sign out the browsers that it signed in.") var lost = false

  func run() async throws { try await options.showLink(isLost: lost) }
}

extension CommandProblem {
  fileprivate static func administratorHasPhone(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "\(name) has a phone already", hint: "add --lost if the phone is lost: it then stops working",
      exitCode: EX_DATAERR)
  }

  fileprivate init(_ change: AdministratorChange, name: String, known: [String]) {
    switch change {
    case .done, .unknown, .lastAdmin:
      self.init(
        message: "there is no administrator \(name)",
        hint: Spelling.hint(for: name, known: known) ?? "iampass-server administrator list",
        exitCode: EX_NOUSER)
    case .nameTaken:
      self.init(
        message: "there is an administrator \(name) already",
        hint: "iampass-server administrator set changes the role, and link shows a link", exitCode: EX_DATAERR)
    case .nameNotFit: self = .badAdministrator
    }
  }
}
