import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct UserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Manage the users of computers that have joined.",
    discussion: """
      A user is known by the Unix user name, which is the same on all computers of the application. Computers that have \
      joined learn of a change within seconds.
      """,
    subcommands: [UserAdd.self, UserRemove.self, UserList.self, UserLink.self, UserSign.self])
}

struct UserListOptions: ParsableArguments {
  @Argument(help: "The application's name or id.")
  var application: String

  @OptionGroup var place: DatabaseOptions

  func managing<Value>(_ work: (any OperatorStore) async throws -> Value) async throws -> Value {
    try await explaining {
      let storage = try place.existing()
      do { return try await work(storage) } catch let refusal as UserListRefusal {
        throw CommandProblem(
          refusal, application: DisplayText.sanitized(application), known: await storage.knownApplications())
      }
    }
  }

  /// Shows a link to register a user's phone.
  ///
  /// - Parameter isFurther: whether to allow another phone if the user may have one.
  /// - Returns: false, without a link, if the user may not have another phone.
  func invite(_ name: String, isFurther: Bool = false, _ storage: any OperatorStore) async throws -> Bool {
    guard
      let code = try await storage.invitation(
        ofListed: name, of: application, isFurther: isFurther, at: storage.now())
    else { return false }
    var address = try await storage.publicAddress()
    if address == nil { address = try await storage.serviceAddress() }
    guard let address else { throw CommandProblem.noAddress }
    let link = try ServerURL(ofOption: address).route(["register", code.exposedValue])
    try Output.say("\(name): open this link on their phone, within 15 minutes; it works once:")
    TerminalCode.show(link)
    try Output.say("  " + link)
    return true
  }
}

struct UserAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Put users on the list, and show links for their phones.",
    discussion: "A user who is on it stays; --group and --no-group change which computers have them.")

  @OptionGroup var options: UserListOptions
  @Argument(help: "Unix user names.") var names: [String]
  @Option(name: .customLong("group"), help: "Only computers of this group, and those without a group, have the users.")
  var groups: [String] = []
  @Flag(help: "Only computers without a group have the users.") var noGroup = false
  @Flag(help: "Show no links.") var noLink = false

  func validate() throws {
    guard groups.isEmpty || !noGroup else { throw ValidationError("--group and --no-group exclude each other") }
  }

  func run() async throws {
    let wanted = groups.isEmpty && !noGroup ? nil : groups
    try await options.managing { storage in
      for name in names {
        let order = UserListOrder(application: options.application, name: name, groups: wanted)
        let listed = try await storage.listUser(order)
        try Output.say("\(name): \(listed.isNew ? "added" : "on the list")")
        if !noLink, try await !options.invite(name, storage) { try Output.say("\(name) has a phone already") }
      }
    }
  }
}

struct UserRemove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Delete users with their phones, and end their sessions.",
    discussion: "It cannot be undone.")

  @OptionGroup var options: UserListOptions
  @Argument(help: "Unix user names.") var names: [String]

  func run() async throws {
    try await options.managing { storage in
      for name in names {
        try await storage.removeListedUser(name, of: options.application, at: storage.now())
        try Output.say("\(name): removed")
      }
    }
  }
}

struct UserList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the users, their groups, and whether they have a phone.")

  @OptionGroup var options: UserListOptions

  func run() async throws {
    let (users, state, now) = try await options.managing {
      (try await $0.listedUsers(of: options.application), try await $0.signingState(), $0.now())
    }
    try Output.say(
      users.map { user in
        ([user.name] + user.groups.map { "group=\($0)" } + [user.hasPhone ? "phone" : "no phone"]).joined(
          separator: "  ")
      })
    for list in state.lists where list.name == options.application || list.application == options.application {
      if let line = SigningText.unsigned(list, in: state, at: now) { Notice.tell(line) }
    }
  }
}

struct UserLink: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Show a new link for the phone of a user who has none, or may have a second one.")

  @OptionGroup var options: UserListOptions
  @Argument(help: "The Unix user name.") var name: String

  func run() async throws {
    guard try await options.managing({ try await options.invite(name, isFurther: true, $0) }) else {
      throw CommandProblem(
        message: "\(name) has a phone already",
        hint: "if it is gone, cut it off on the user's page in the console; for a second one, "
          + "iampass-server application set APPLICATION --phones 2", exitCode: EX_DATAERR)
    }
  }
}

extension CommandProblem {
  /// - Parameter known: the names of existing applications.
  init(_ refusal: UserListRefusal, application: String, known: [String] = []) {
    switch refusal {
    case .unknownApplication: self.init(ApplicationRefusal.nameUnknown, name: application, known: known)
    case .nameNotFit:
      self.init(
        message: "this is not a Unix user name, or it is root's",
        hint: "use letters, digits, points, hyphens and underscores, 64 at most", exitCode: EX_DATAERR)
    case .groupNotFit:
      self.init(
        message: "this is not a name for a group",
        hint: "use letters, digits, points, hyphens and underscores, 64 at most", exitCode: EX_DATAERR)
    case .unknownUser, .badToken:
      self.init(
        message: "\(application) has no such user on its list",
        hint: "iampass-server user list \(application)", exitCode: EX_NOUSER)
    }
  }
}
