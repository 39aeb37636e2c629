import AdminCommands
import ArgumentParser
import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

struct SetupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Connects this computer to the service.",
    discussion: """
      Asks for what is not given and not set yet, tries it out, and writes iampass.conf and credentials. What is there \
      already stays unless an option says otherwise; the old files are kept beside as .bak. The secret is asked for \
      without echo, or read from a file; it is never an argument.
      """)

  @OptionGroup var host: HostOptions
  @Option(help: "The service's address, https://…") var server: String?
  @Option(name: .customLong("application-id"), help: "The application's or host credential's id.")
  var applicationID: String?
  @Option(help: "File of root's alone that has the secret, or application_id and application_secret as lines.")
  var secretFile: String?
  @Option(help: "PEM file of the authority that alone is trusted for the service.") var ca: String?

  func run() throws {
    try reportingFailures {
      try requireRoot()
      try makeFolder()
      let interrupt = Interrupt()
      let lock = try AdminLock(folder: host.folder)
      defer { withExtendedLifetime(lock) {} }
      let (asked, trial) = try answersTried(interrupt)
      try SetupFiles(folder: host.folder, name: host.fileName, answers: asked, trial: trial).write()
      Terminal.say("next: iampassctl user add NAME, iampassctl enroll NAME, iampassctl enable")
    }
  }

  /// Nothing is written before the service has agreed.
  private func answersTried(_ interrupt: Interrupt) throws(Failure) -> (SetupAnswers, SetupTrial) {
    do throws(Failure) {
      let asked = try SetupAnswers(self, prompt: Terminal.isInteractive ? Prompt(interrupt: interrupt) : nil)
      return (asked, try SetupTrial(asked, interrupt: interrupt))
    } catch {
      if case .interrupted = error { throw .interruptedUnchanged }
      throw error
    }
  }

  private func makeFolder() throws(Failure) {
    guard mkdir(host.folder, 0o755) == 0 || errno == EEXIST else {
      throw .file(FileError(.system(errno), path: host.folder))
    }
  }
}

/// What is to be set up: from options, the files that are there, and the terminal.
struct SetupAnswers {
  let configuration: Configuration
  let server: ServerURL
  let credential: ServiceCredential
  /// As it will stand in the configuration; nil: as it stands there now.
  let newAuthority: String?

  init(_ command: SetupCommand, prompt: Prompt?) throws(Failure) {
    configuration = try Self.configuration(at: command.host.path)
    newAuthority = try command.ca.map { (path) throws(Failure) in try Self.absolute(path) }
    server = try Self.server(command.server, configuration, prompt)
    let known = try Self.credential(at: command.host.folder + "/credentials")
    credential = try Self.credential(command, known, prompt)
  }

  /// An unusable file is for the admin to look at, not to be overwritten.
  private static func configuration(at path: String) throws(Failure) -> Configuration {
    do { return try Configuration(path: path) } catch {
      if case .keyValue(.file(let file)) = error, file.code == .missing { return Configuration() }
      throw .misconfigured(.configuration(error, path: path), path: path)
    }
  }

  /// Nil where there are none yet, or an empty file.
  private static func credential(at path: String) throws(Failure) -> ServiceCredential? {
    do { return try ServiceCredential(path: path) } catch {
      if case .keyValue(.file(let file)) = error, file.code == .missing { return nil }
      if case .missing = error { return nil }
      throw .misconfigured(.credentials(error, path: path), path: path)
    }
  }

  private static func absolute(_ path: String) throws(Failure) -> String {
    guard let found = realpath(path, nil) else { throw .file(FileError(.missing, path: path)) }
    defer { free(found) }
    return String(cString: found)
  }

  private static func server(
    _ given: String?, _ configuration: Configuration, _ prompt: Prompt?
  ) throws(Failure) -> ServerURL {
    if given == nil, let known = configuration.server { return known }
    guard var text = given else {
      guard let prompt else { throw .missingOption("--server") }
      return try address(try prompt.line("Address of the service (https://…): "))
    }
    if !text.contains("://") { text = "https://" + text }
    return try address(text)
  }

  private static func address(_ text: String) throws(Failure) -> ServerURL {
    let full = text.contains("://") ? text : "https://" + text
    do { return try ServerURL(full) } catch { throw .badAddress(text, error) }
  }

  private static func credential(
    _ command: SetupCommand, _ known: ServiceCredential?, _ prompt: Prompt?
  ) throws(Failure) -> ServiceCredential {
    let file = try command.secretFile.map { (path) throws(Failure) in try SecretFile(path: path) }
    let id: String
    if let given = command.applicationID ?? file?.applicationID ?? known?.applicationID {
      id = given
    } else if let prompt {
      id = try prompt.line("Application id: ")
    } else {
      throw .missingOption("--application-id")
    }
    guard Self.isPlain(Array(id.utf8)) else { throw .badApplicationID }
    if let secret = file?.secret { return ServiceCredential(applicationID: id, secret: secret) }
    // Who names the id wants the secret to be asked for anew.
    if command.applicationID == nil, let known { return known }
    guard let prompt else { throw .missingOption("--secret-file") }
    let secret = try prompt.secret("Application secret (not shown): ")
    guard Self.isPlain(secret.exposedBytes) else { throw .badSecret }
    return ServiceCredential(applicationID: id, secret: secret)
  }

  /// What the credentials file takes: printable, without spaces, of bounded length.
  static func isPlain(_ bytes: [UInt8]) -> Bool {
    (1...512).contains(bytes.count) && bytes.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

/// A file that has a secret alone in a line, or `application_id` and `application_secret`.
struct SecretFile {
  private static let greatestSize = 4_096

  let applicationID: String?
  let secret: Secret

  init(path: String) throws(Failure) {
    if let both = try? ServiceCredential(path: path) {
      applicationID = both.applicationID
      secret = both.secret
      return
    }
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch { throw .file(error) }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    guard SetupAnswers.isPlain(Array(line)) else { throw .badSecret }
    applicationID = nil
    secret = Secret(bytes: Array(line))
  }
}

/// What the service says to the answers: tried, and nothing changed by it.
struct SetupTrial {
  let scheme: SigningScheme
  let requiresSignedReplies: Bool

  init(_ answers: SetupAnswers, interrupt: Interrupt) throws(Failure) {
    let transport = try Self.transport(answers, interrupt)
    let probe = ServiceProbe(
      server: answers.server, dialect: answers.configuration.dialect, transport: transport,
      unixTime: { Int64(time(nil)) })
    let began = MonotonicInstant.now()
    let greeting = try Self.asking(answers.server) { () throws(ServiceError) in
      try probe.greeting(deadline: began.advanced(milliseconds: ServiceChecks.patience))
    }
    let took = MonotonicInstant.now().milliseconds(since: began)
    Terminal.say("\(answers.server) answers" + (answers.server.isEncrypted ? " over TLS" : "") + " (\(took) ms)")
    let clock = ClockFinding.finding(difference: greeting.clockDifference)
    Terminal.say(clock.text)
    if let hint = clock.hint { Terminal.say("hint: \(hint)") }
    let (scheme, kind, signs) = try Self.accepted(answers, probe, greeting.announcement)
    self.scheme = scheme
    requiresSignedReplies = try Self.pins(
      answers, announced: greeting.announcement?.signedReplies ?? false, signs: signs)
    Self.tell(kind, hostsHaveOwn: greeting.announcement?.hostCredentials ?? false)
  }

  private static func transport(_ answers: SetupAnswers, _ interrupt: Interrupt) throws(Failure) -> WorkerTransport {
    var authorities: [UInt8]?
    if let path = answers.newAuthority ?? answers.configuration.caFile {
      do { authorities = try SecureFile.read(path, privacy: .readableByAll, limit: 1024 * 1024) } catch {
        throw .file(error)
      }
    }
    let configuration = answers.configuration
    return WorkerTransport(
      settings: WorkerSettings(
        server: answers.server, caCertificates: authorities, proxy: configuration.proxy, worker: configuration.worker,
        workerUser: configuration.workerUser), interruption: interrupt)
  }

  private static func asking<Answer>(
    _ server: ServerURL, _ call: () throws(ServiceError) -> Answer
  ) throws(Failure) -> Answer {
    do { return try call() } catch {
      if case .transport(let transport) = error {
        if transport.code == .interrupted { throw .interrupted }
        throw .unreachable(server, transport)
      }
      throw .service(error)
    }
  }

  /// The scheme in force is tried first, so that a service that takes both changes nothing.
  private static func accepted(
    _ answers: SetupAnswers, _ probe: ServiceProbe, _ announcement: ServiceAnnouncement?
  ) throws(Failure) -> (SigningScheme, ServiceProbe.CredentialKind, signsReplies: Bool) {
    let current = answers.configuration.signing
    for scheme in [current] + SigningScheme.allCases.filter({ $0 != current }) {
      // The documented scheme takes no secret of another length.
      let fits = (try? RequestSigner(clientID: "", secret: answers.credential.secret, scheme: scheme)) != nil
      guard fits else { continue }
      let acceptance = try asking(answers.server) { () throws(ServiceError) in
        try probe.acceptance(
          of: answers.credential, scheme: scheme, mayBeHost: announcement?.hostCredentials ?? false,
          deadline: .now().advanced(milliseconds: ServiceChecks.patience))
      }
      switch acceptance {
      case .accepted(let kind, let signs):
        Terminal.say("the service accepts the signature (signing = \(scheme.rawValue))")
        return (scheme, kind, signs)
      case .refused: continue
      case .unknownApplication: throw .unknownApplication(answers.credential.applicationID)
      case .clockDiffers(let difference): throw .service(.clockDiffers(minutes: Int64(difference.magnitude / 60)))
      }
    }
    throw .notAccepted
  }

  /// Once pinned it stays pinned: a service that signs no more, or announces and does not, may be somebody else.
  private static func pins(_ answers: SetupAnswers, announced: Bool, signs: Bool) throws(Failure) -> Bool {
    let wasPinned = answers.configuration.requiresSignedReplies && answers.server == answers.configuration.server
    guard signs || !(announced || wasPinned) else { throw .service(.replyNotSigned) }
    guard signs || answers.server.isEncrypted else {
      throw .misconfigured(.plainServerNotSigned, path: Configuration.path)
    }
    if signs { Terminal.say("the service signs its replies: signed_replies = required") }
    return signs
  }

  private static func tell(_ kind: ServiceProbe.CredentialKind, hostsHaveOwn: Bool) {
    switch kind {
    case .host: Terminal.say("the credential is this host's own: users and phones are managed with --credentials FILE")
    case .application:
      Terminal.say("the credential is the application's own: whoever is root here can register phones for everybody")
      if hostsHaveOwn { Terminal.say("hint: make a host credential at the service, and run setup again with it") }
    }
  }
}

/// The two files with the new values in them.
struct SetupFiles {
  let folder: String
  /// Of the configuration.
  let name: String
  let answers: SetupAnswers
  let trial: SetupTrial

  func write() throws(Failure) {
    do throws(FileError) {
      let changes = try [configuration(), credentials()].compactMap { $0 }
      guard !changes.isEmpty else { return Terminal.say("nothing to change") }
      for (entry, old) in changes {
        if let old { try AtomicFile.write(old, to: "\(folder)/\(entry.name).bak", mode: entry.mode) }
      }
      try FileSet.write(changes.map(\.0), in: folder)
      for (entry, old) in changes {
        Terminal.say("wrote \(folder)/\(entry.name)" + (old == nil ? "" : " (the old one is \(entry.name).bak)"))
      }
    } catch { throw .file(error) }
  }

  /// Only values that differ from those in force are written. Nil: none does.
  private func configuration() throws(FileError) -> (FileSet.Entry, old: [UInt8]?)? {
    var values: [(key: String, value: String)] = []
    let known = answers.configuration
    if known.server != answers.server { values.append(("server", answers.server.description)) }
    if let path = answers.newAuthority, path != known.caFile { values.append(("ca_file", path)) }
    if known.signing != trial.scheme { values.append(("signing", trial.scheme.rawValue)) }
    if known.requiresSignedReplies != trial.requiresSignedReplies {
      values.append(("signed_replies", trial.requiresSignedReplies ? "required" : "off"))
    }
    return try entry(name, values, .readableByAll, mode: 0o644)
  }

  private func credentials() throws(FileError) -> (FileSet.Entry, old: [UInt8]?)? {
    let known = try? ServiceCredential(path: folder + "/credentials")
    guard known?.applicationID != answers.credential.applicationID || known?.secret != answers.credential.secret else {
      return nil
    }
    let values = [
      ("application_id", answers.credential.applicationID),
      ("application_secret", answers.credential.secret.exposedValue),
    ]
    return try entry("credentials", values.map { (key: $0.0, value: $0.1) }, .secret, mode: 0o600)
  }

  private func entry(
    _ name: String, _ values: [(key: String, value: String)], _ privacy: SecureFile.Privacy, mode: UInt32
  ) throws(FileError) -> (FileSet.Entry, old: [UInt8]?)? {
    guard !values.isEmpty else { return nil }
    var old: [UInt8]?
    do { old = try SecureFile.read("\(folder)/\(name)", privacy: privacy, limit: 64 * 1024) } catch {
      guard error.code == .missing else { throw error }
    }
    return (FileSet.Entry(name: name, bytes: KeyValueEditor.setting(values, in: old ?? []), mode: mode), old)
  }
}
