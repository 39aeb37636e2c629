import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct UserAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Gives users a token, at the service and in the users file.",
    discussion: """
      A user who has one keeps it. Running it again repairs what was interrupted. On a computer whose users come from \
      the service it puts users on the service's list instead, once an administrator has approved that on the phone.
      """)

  @OptionGroup var options: ManagementOptions
  @Option(help: "The token of one user, as another computer has it; 128 random bits unless given.") var token: String?
  @Option(
    name: .customLong("group"),
    help: "On the service's list: only computers of this group, and those without, have them.")
  var groups: [String] = []
  @Flag(help: "Add users that this system does not know.") var force = false
  @OptionGroup var naming: NamingOptions
  @Argument(help: "Names of users.") var users: [String]

  func validate() throws {
    guard token == nil || users.count == 1 else { throw ValidationError("--token is for one user") }
  }

  func run() throws {
    try reportingProblems {
      let host = try ConfiguredHost(options)
      if host.asksAdministrators { return try list(host) }
      guard groups.isEmpty else {
        throw CommandProblem.change(.option("--group is for users that come from the service (users = service)"))
      }
      let lock = try AdminLock(folder: options.host.folder)
      defer { withExtendedLifetime(lock) {} }
      // All names are checked before a user is added.
      let names = try users.map { (text) throws(CommandProblem) in try known(text) }
      for user in names { try add(user, host) }
    }
  }

  /// Adds the users to the service's list. The helper keeps the list, so nothing is written here.
  private func list(_ host: ConfiguredHost) throws {
    guard token == nil else {
      throw CommandProblem.change(
        .option("--token is for the users file, and users come from the service (users = service)"))
    }
    guard !naming.noNames else {
      throw CommandProblem.change(.option("--no-names is for the users file: the service's list has Unix names"))
    }
    let names = try users.map { (text) throws(CommandProblem) in try known(text) }
    let approved = try UserChangeCall(host: host).run(.add, names, groups: groups.isEmpty ? nil : groups)
    for user in names { Terminal.say("\(user): on the service's list, approved by \(approved.administrator)") }
  }

  private func known(_ text: String) throws(CommandProblem) -> UnixUsername {
    guard let name = UnixUsername(validating: text) else { throw .badUsername(text) }
    let known = force ? try? SystemUser.find(named: name) : try SystemUser.look(for: name)
    guard known != nil || force else { throw .unknownUser(name) }
    return known?.name ?? name
  }

  /// Writes the file first. After a crash the next run sends its token to the service. In the other order, a crash
  /// would leave an unknown token at the service.
  private func add(_ user: UnixUsername, _ host: ConfiguredHost) throws(CommandProblem) {
    let fresh = try freshToken()
    let editor = UserTokensEditor(path: host.usersPath, sharing: options.host.sharedTokens)
    let (inFile, isNew) = try host.usersFile { () throws(UserTokensError) in try editor.token(of: user, orAdd: fresh) }
    guard token == nil || inFile == fresh else {
      throw .misconfigured(.users(.hasAnotherToken(user.text), path: host.usersPath), path: host.usersPath)
    }
    do throws(CommandProblem) {
      _ = try host.manage { (client, deadline) throws(ServiceError) in
        try client.addUsers([inFile], called: [(inFile, naming.name(of: user))], deadline: deadline)
      }
      Terminal.say(isNew ? "\(user): added" : "\(user): was there already")
    } catch {
      // A token that was there before stays.
      if isNew { try takeBack(user, fresh, error, host) }
      throw error
    }
  }

  private func freshToken() throws(CommandProblem) -> Secret {
    if let token {
      guard UserTokens.isToken(Array(token.utf8)) else { throw .badToken }
      return Secret(token)
    }
    guard let identifier = Digest.randomIdentifier() else { throw .service(.noRandomness) }
    return Secret(identifier)
  }

  /// Removes the token again. If the request may have arrived, the service is also told to forget the token, unless
  /// another computer may use it.
  private func takeBack(
    _ user: UnixUsername, _ fresh: Secret, _ cause: CommandProblem, _ host: ConfiguredHost
  ) throws(CommandProblem) {
    host.ignoreInterruption()
    if token == nil, cause.mayHaveArrived {
      _ = try? host.manage { (client, deadline) throws(ServiceError) in
        try client.deleteUsers([fresh], deadline: deadline)
      }
    }
    try host.usersFile { () throws(UserTokensError) in
      try UserTokensEditor(path: host.usersPath).remove(user, token: fresh)
    }
  }
}

/// Options on the names of added users that the service gets.
struct NamingOptions: ParsableArguments {
  @Flag(help: "Do not tell the service the users' names; it forgets those that it was told.") var noNames = false

  /// The name for readers of the service's console and audit. An empty name removes an earlier one.
  func name(of user: UnixUsername) -> String { noNames ? "" : user.text }
}
