import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

struct HostOptions: ParsableArguments {
  @Option(
    name: .customLong("config"), help: "Configuration file; credentials and users stand beside it.",
    completion: .file())
  var path = Configuration.path

  /// The path must be absolute, as for the module: a relative one would depend on the working directory.
  func validate() throws {
    guard path.hasPrefix("/"), !path.hasSuffix("/") else { throw ValidationError("--config takes an absolute path") }
  }

  var place: SetupPlace { SetupPlace(configuration: path) }
  var folder: String { place.folder }
  var usersPath: String { place.users }

  /// The configuration's value; the default if the configuration cannot be read.
  var sharedTokens: SharedTokens { (try? Configuration(path: path))?.sharedTokens ?? .refused }
}

/// Options of commands that manage users and phones on a computer that only has its own credential.
struct ManagementOptions: ParsableArguments {
  @OptionGroup var host: HostOptions
  @Option(
    help: "File with the application's own credential, where this host's does sign-ins only.", completion: .file())
  var credentials: String?
}

/// This computer's setup, with a connection to the service.
struct ConfiguredHost {
  /// The longest time of one call to the service, in milliseconds.
  static let patience: Int64 = 15_000

  let setup: HostSetup
  let usersPath: String
  let interrupt: Interrupt
  private let transport: WorkerTransport
  private let management: ManagementClient
  private let authentication: AuthenticationClient
  /// The computer's name at the service; nil if the credential does not have it.
  private let hostName: String?
  /// The credential's path; nil if a `--credentials` file was given.
  let credentialsPath: String

  init(_ options: ManagementOptions) throws(CommandProblem) {
    try self.init(path: options.host.path, credentials: options.credentials)
  }

  /// - Parameters:
  ///   - path: the configuration's path.
  ///   - credentials: another file than the one beside the configuration.
  init(path: String, credentials: String?) throws(CommandProblem) {
    try requireRoot()
    do throws(Misconfiguration) {
      setup = try HostSetup(path: path)
      usersPath = setup.usersPath
      credentialsPath = credentials ?? setup.credentialsPath
      interrupt = Interrupt()
      transport = try setup.transport(interruption: interrupt)
      let settings = try setup.serviceSettings()
      let credential = try Self.credential(credentialsPath)
      hostName = credential.host
      let clock = { Int64(time(nil)) }
      do {
        management = try ManagementClient(
          settings: settings, credential: credential, transport: transport, unixTime: clock)
        authentication = try AuthenticationClient(
          settings: settings, credential: credential, transport: transport, unixTime: clock)
      } catch { throw Misconfiguration.signing(error) }
    } catch {
      // This file was given as an option. `setup` does not write it.
      if let given = credentials, let file = error.file, file == FileError(.missing, path: given) {
        throw .file(file)
      }
      throw .misconfigured(error, path: path)
    }
  }

  private static func credential(_ path: String) throws(Misconfiguration) -> ServiceCredential {
    do { return try ServiceCredential(path: path) } catch { throw .credentials(error, path: path) }
  }

  /// Makes one call to the service's `management/*`, within ``patience``.
  ///
  /// - Parameter user: the user of the call's token. The error names this user if the service does not know the token.
  func manage<Answer>(
    for user: UnixUsername? = nil, _ call: (ManagementClient, MonotonicInstant) throws(ServiceError) -> Answer
  ) throws(CommandProblem) -> Answer {
    do { return try call(management, MonotonicInstant.now().advanced(milliseconds: Self.patience)) } catch {
      if case .notAccepted = error { throw .mayNotManage(credentials: credentialsPath) }
      if case .notFound = error, let user { throw .unknownAtService(user) }
      throw Self.failure(error, setup)
    }
  }

  /// Makes one call to the service's `authentication/*`, within the given time.
  func authenticate<Answer>(
    milliseconds: Int64 = patience, _ call: (AuthenticationClient, MonotonicInstant) throws(ServiceError) -> Answer
  ) throws(CommandProblem) -> Answer {
    do { return try call(authentication, MonotonicInstant.now().advanced(milliseconds: milliseconds)) } catch {
      throw Self.failure(error, setup)
    }
  }

  func server() throws(CommandProblem) -> ServerURL {
    guard let server = setup.configuration.server else {
      throw .misconfigured(.noServer, path: setup.configurationPath)
    }
    return server
  }

  /// The service's announcement; nil if it does not have one.
  func announcement() throws(CommandProblem) -> ServiceAnnouncement? {
    let probe = ServiceProbe(
      server: try server(), dialect: setup.configuration.dialect, transport: transport, unixTime: { Int64(time(nil)) })
    do { return try probe.greeting(deadline: .now().advanced(milliseconds: Self.patience)).announcement } catch {
      throw Self.failure(error, setup)
    }
  }

  /// The question for the user's phone. It requires as much as a sign-in on this computer, and a locum cannot answer
  /// it.
  ///
  /// - Parameter context: nil, or without a host, if the service itself gives the computer's name.
  func question(of user: UnixUsername, context: SignInContext?) throws(CommandProblem) -> ApprovalQuestion {
    guard let trust = setup.phoneTrust else { return .service(methods: [], context: context) }
    guard var context else { throw .misconfigured(.verifiedWithoutContext, path: setup.configurationPath) }
    context.host = hostName ?? context.host
    do { return .phone(try trust.demand(of: user, asked: [], takesLocums: false), context: context) } catch {
      switch error {
      case .file(let error, let path): throw .misconfigured(.phones(error, path: path), path: path)
      case .gap(let gap): throw .phoneNotTrusted(user, gap)
      }
    }
  }

  /// Whether an administrator's phone approves changes: the list of users comes from the service, and this computer
  /// uses its own credential. If `--credentials` was given, that file is used instead.
  var asksAdministrators: Bool {
    setup.configuration.users == .service && hostName != nil && credentialsPath == setup.credentialsPath
  }

  /// Ignores Ctrl-C from now on: the call that undoes the change must still be sent.
  func ignoreInterruption() { transport.ignoreInterruption() }

  private static func failure(_ error: ServiceError, _ setup: HostSetup) -> CommandProblem {
    guard case .transport(let transport) = error else { return .service(error) }
    if transport.code == .interrupted { return .interrupted }
    return setup.configuration.server.map { .unreachable($0, transport) } ?? .service(error)
  }

  /// The user as the system spells the name, with the token that the file has for this user, shared or not.
  func enrolled(_ text: String) throws(CommandProblem) -> EnrolledUser {
    guard setup.configuration.users == .file else { return try enrolledForSignIn(text) }
    return try enrolled(text) { (user) throws(UserTokensError) in try UserTokens(path: usersPath).token(of: user) }
  }

  /// As ``enrolled(_:)``, but throws for a shared token that sign-ins do not take.
  func enrolledForSignIn(_ text: String) throws(CommandProblem) -> EnrolledUser {
    let user = try UnixUsername(typed: text)
    let token: Secret?
    let known = try SystemUser.look(for: user)
    do { token = try setup.token(of: user, known: known) } catch {
      throw .misconfigured(error, path: usersPath)
    }
    guard let token else { throw .noToken(user) }
    return EnrolledUser(name: user, token: token)
  }

  private func enrolled(
    _ text: String, _ tokenOf: (UnixUsername) throws(UserTokensError) -> Secret?
  ) throws(CommandProblem) -> EnrolledUser {
    let user = try UnixUsername(typed: text)
    guard let token = try usersFile({ () throws(UserTokensError) in try tokenOf(user) }) else { throw .noToken(user) }
    return EnrolledUser(name: user, token: token)
  }

  /// The user's token, if there is one: the file's, shared or not, or the service's for a user who may sign in here.
  func token(of user: UnixUsername) throws(CommandProblem) -> Secret? {
    guard setup.configuration.users == .service else {
      return try usersFile { () throws(UserTokensError) in try UserTokens(path: usersPath).token(of: user) }
    }
    let known = try SystemUser.look(for: user)
    do { return try setup.token(of: user, known: known) } catch {
      throw .misconfigured(error, path: usersPath)
    }
  }

  func usersFile<Result>(_ body: () throws(UserTokensError) -> Result) throws(CommandProblem) -> Result {
    do { return try body() } catch { throw .misconfigured(.users(error, path: usersPath), path: usersPath) }
  }
}

extension UnixUsername {
  /// A name from the command line, as the system spells it if it knows the user.
  init(typed text: String) throws(CommandProblem) {
    guard let name = UnixUsername(validating: text) else { throw .badUsername(text) }
    // A name that cannot be looked up stays as typed, because a lost phone must be removable during an outage too. It
    // is then found in a file only if it has the same spelling there.
    self = (try? SystemUser.find(named: name))?.name ?? name
  }
}

extension SystemUser {
  /// Nil if the system says that it does not know the name.
  static func look(for name: UnixUsername) throws(CommandProblem) -> SystemUser? {
    do { return try find(named: name) } catch { throw .lookup(error) }
  }
}

struct EnrolledUser {
  let name: UnixUsername
  let token: Secret
}
