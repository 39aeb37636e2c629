import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer
import Logging

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the service until SIGTERM or SIGINT; SIGHUP has it read its certificate again.")

  @Option(help: ArgumentHelp("The data directory; made if it is missing.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp(
      "A PostgreSQL database instead of a data directory: postgresql://…, without a password.", valueName: "url"))
  var database: String?

  @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "address:port"))
  var listen: String

  @Option(help: ArgumentHelp("The certificate with its chain, in PEM.", valueName: "file"), completion: .file())
  var tlsCert: String

  @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"), completion: .file())
  var tlsKey: String

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp(
      "The address that clients use. Needed unless --listen is on loopback only.",
      valueName: "url"))
  var publicURL: String?

  @Option(
    help: ArgumentHelp(
      "Seconds that a client's request is held until its reply changes, 0 to 60; 0 if a proxy cannot hold requests.",
      valueName: "seconds"))
  var longestWait = SignInService.usualWait

  @Option(
    help: ArgumentHelp(
      "Seconds from a stop's signal, 0 to \(ServerRun.longestDrainDelay), in which /readyz says so and requests are answered as before; give a proxy's interval twice.",
      valueName: "seconds"))
  var drainDelay: Int64 = 0

  @Option(
    help: ArgumentHelp(
      "Days for which phones' signed answers, cut-off phones and revoked credentials are kept, \(Self.text(KeptTimes.answersBounds)).",
      valueName: "days"))
  var keepAnswers = 400

  @Option(
    help: ArgumentHelp(
      "Days for which entries of the audit are kept, \(Self.text(KeptTimes.auditBounds)).", valueName: "days"))
  var keepAudit = 400

  @Option(
    name: .customLong("push-ca"),
    help: ArgumentHelp(
      "The authority of your own push service, in PEM: no other is used then. By default, the browsers' own are used.",
      valueName: "file"), completion: .file())
  var pushAuthority: String?

  @Option(
    name: .customLong("app-push-url"),
    help: ArgumentHelp(
      "A stand-in for Apple's and Google's services, with a certificate of --push-ca: for tests.", valueName: "url"))
  var appPushURL: String?

  @Option(
    help: ArgumentHelp(
      "Whom the push services' operators may write to, as mailto:ADDRESS. By default the public address, which Apple refuses if its name is private.",
      valueName: "address"))
  var pushContact: String?

  @Option(
    help: ArgumentHelp(
      "A proxy through which push services are reached, by CONNECT. By default they are reached directly.",
      valueName: "url"))
  var pushProxy: String?

  @Option(
    help: ArgumentHelp(
      "Also serve /metrics, /healthz and /readyz here, without TLS, to anyone who can connect.",
      valueName: "address:port"))
  var metricsListen: String?

  @Option(
    help: ArgumentHelp(
      "Serve the console here alone, with the same certificate. By default it is on --listen, beside the rest.",
      valueName: "address:port"))
  var consoleListen: String?

  @Option(
    name: .customLong("console-url"),
    help: ArgumentHelp(
      "The address that administrators' browsers use. Needed unless --console-listen is on loopback only.",
      valueName: "url"))
  var consoleURL: String?

  @Option(
    help: ArgumentHelp(
      "The address of a proxy whose X-Forwarded-For says who sent a request; may be given more than once.",
      valueName: "address"))
  var trustedProxy: [String] = []

  @Option(
    help: ArgumentHelp(
      "The folder of the programs that may send registration links; only root may be able to write there.",
      valueName: "dir"),
    completion: .directory)
  var programs = SignInService.usualPrograms

  @OptionGroup var seal: SealOptions

  @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel = "info"

  enum LogFormat: String, ExpressibleByArgument, CaseIterable { case text, json }

  @Option(help: ArgumentHelp("text, or json: one object a line.", valueName: "format"))
  var logFormat = LogFormat.text

  /// How long a start waits for the check of the whole database after a crash: see `ServiceUnit`.
  private static let longestCheck = Duration.seconds(5)

  func validate() throws {
    guard (data == nil) != (database == nil) else { throw ValidationError("give one of --data and --database") }
    guard appPushURL == nil || pushAuthority != nil else {
      throw ValidationError("--app-push-url needs --push-ca")
    }
    guard consoleURL == nil || consoleListen != nil else {
      throw ValidationError("--console-url needs --console-listen")
    }
    guard (0...SignInService.usualWait).contains(longestWait) else {
      throw ValidationError("--longest-wait takes 0 to \(SignInService.usualWait)")
    }
    guard KeptTimes.answersBounds.contains(keepAnswers) else {
      throw ValidationError("--keep-answers takes \(Self.text(KeptTimes.answersBounds))")
    }
    guard KeptTimes.auditBounds.contains(keepAudit) else {
      throw ValidationError("--keep-audit takes \(Self.text(KeptTimes.auditBounds))")
    }
    guard (0...ServerRun.longestDrainDelay).contains(drainDelay) else {
      throw ValidationError("--drain-delay takes 0 to \(ServerRun.longestDrainDelay)")
    }
  }

  private static func text(_ bounds: ClosedRange<Int>) -> String { "\(bounds.lowerBound) to \(bounds.upperBound)" }

  func run() async throws {
    try await AuditActor.$current.withValue(.service) { try await serve() }
  }

  private func serve() async throws {
    let logger = try makeLogger()
    prepareProcess(logger)
    let addresses = try ServeAddresses(
      listen: listen, metrics: metricsListen, console: (consoleListen, consoleURL), publicURL: publicURL,
      proxies: trustedProxy)
    try await explaining {
      // Both may be root's files.
      let tls = try TLSFiles(certificate: tlsCert, key: tlsKey)
      let keys = try seal.keys()
      if let data { try becomeOwner(of: data, logger) }
      let (service, storage, unchecked) = try await makeService(tls, keys, addresses, logger)
      warnOfPageProblem(service, logger)
      try await ServerRun(
        service: service, storage: storage, unchecked: unchecked, cleanStop: data.map(CleanStop.init(folder:)),
        tls: tls, certificate: tlsCert, addresses: addresses, drainDelay: drainDelay,
        keptTimes: KeptTimes(answers: keepAnswers, audit: keepAudit), logger: logger
      ).run()
      try? storage.close()
    }
  }

  private func prepareProcess(_ logger: Logger) {
    ProcessLimits.raiseDescriptors()
    if !ProcessLimits.forbidDumps() { logger.warning("core dumps could not be forbidden: they would hold secrets") }
    // By default SIGHUP would end the service, and it may come before the service listens.
    signal(SIGHUP, SIG_IGN)
    // A client that closes its connection must not end the service.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Root goes on as the owner of the data directory. SQLite follows what that user leaves there, and files of root's
  /// could not be opened by a service of that user.
  private func becomeOwner(of data: String, _ logger: Logger) throws(CommandProblem) {
    let owner = ActingUser.other(ownerOf: data)
    try ActingUser.become(ownerOf: data)
    guard let owner else { return }
    logger.notice(
      "goes on as the owner of the data directory",
      metadata: ["data": "\(DisplayText.sanitized(data))", "user": "\(owner.user)"])
    for file in [tlsCert, tlsKey] where access(file, R_OK) != 0 {
      logger.warning(
        "the owner of the data directory cannot read a file of the certificate: a renewed one would not be taken",
        metadata: ["file": "\(DisplayText.sanitized(file))", "hint": "let that user's group read it"])
    }
  }

  /// Opens the storage. After a clean stop the whole file is checked while the service runs. Otherwise it is checked
  /// now, unless that takes too long: a crash may have damaged it, or the file may have been replaced.
  private func openStorage(
    in data: String, _ keys: SealKeys?, _ logger: Logger
  ) async throws -> (storage: SQLiteStorage, isChecked: Bool) {
    let isClean = CleanStop(folder: data).take()
    var storage = try SQLiteStorage(folder: data)
    storage.sealKeys = keys
    try await check(storage, logger)
    let isChecked = isClean ? false : try await storage.checkWhole(within: Self.longestCheck)
    if !isClean && !isChecked {
      logger.warning("the last stop was not in order, and the database is large: it is checked while the service runs")
    }
    if try await storage.beginWithCopy() {
      logger.warning(
        "a copy of the database was put back",
        metadata: ["hint": "phones cut off and credentials revoked since it was made are taken again"])
    }
    return (storage, isChecked)
  }

  /// Refuses a database whose sealed secrets cannot be opened, before anything is changed in it. A command that seals it
  /// meanwhile sees this server, or this server sees the seal.
  private func check(_ storage: any OperatorStore, _ logger: Logger) async throws {
    do { try await storage.showServer() } catch let error as StorageError {
      let help =
        database == nil ? "make room on the disk, and restart the server" : "look at the PostgreSQL server's log"
      logger.warning(
        "commands do not see that this server runs: they may seal the database without asking for its key",
        metadata: [
          "place": "\(DisplayText.sanitized(error.path))", "error": "\(error.detail)",
          "hint": "\(help) before iampass-server database seal or unseal",
        ])
    }
    // Those of sign-in clients may be many. Each is opened when it is used.
    try await storage.checkOwnSeals()
    guard storage.sealKeys != nil else { return }
    if try await !storage.isSealed() {
      logger.warning(
        "secrets in the database are in clear, although there is a key to seal them",
        metadata: ["hint": "iampass-server database seal"])
    } else if try await !storage.areClientsSealed() {
      logger.warning(
        "secrets of applications, computers and sessions in the database are not all sealed",
        metadata: ["hint": "iampass-server database seal"])
    }
  }

  private func makeService(
    _ tls: TLSFiles, _ keys: SealKeys?, _ addresses: ServeAddresses, _ logger: Logger
  ) async throws -> (SignInService, any OperatorStore, unchecked: SQLiteStorage?) {
    let pushTrust = try PushTrust(
      authority: pushAuthority, standIn: try standIn(), proxy: try PushProxy(ofOption: pushProxy))
    let contact = try PushContact(ofOption: pushContact)
    let proxies = TrustedProxies(addresses.proxies)
    if let database {
      var storage = try PostgreSQLStorage(url: database)
      storage.sealKeys = keys
      try await check(storage, logger)
      if try storage.beginWithCopy() { SignInService.tellOfLostHistory(logger) }
      let service = SignInService(
        storage: storage, publicURL: addresses.publicURL, longestWait: longestWait, pushTrust: pushTrust,
        pushContact: contact, proxies: proxies, programs: programs, logger: logger, certificateEnd: { tls.end },
        joinCodes: joinCodes)
      return (service, storage, nil)
    }
    let (storage, isChecked) = try await openStorage(in: data ?? "", keys, logger)
    let service = SignInService(
      storage: storage, publicURL: addresses.publicURL, longestWait: longestWait, pushTrust: pushTrust,
      pushContact: contact, proxies: proxies, programs: programs, logger: logger, certificateEnd: { tls.end },
      joinCodes: joinCodes)
    service.noteFile(isChecked: isChecked)
    return (service, storage, isChecked ? nil : storage)
  }

  /// The maker of join codes. Behind a proxy, computers see the proxy's own certificate.
  private var joinCodes: JoinCodeMaker {
    trustedProxy.isEmpty ? JoinCodeMaker(certificate: tlsCert) : .none
  }

  private func standIn() throws -> ServerURL? {
    guard let appPushURL else { return nil }
    guard let url = try? ServerURL(appPushURL), url.isEncrypted, url.hostName != nil else {
      throw CommandProblem.badPublicURL(DisplayText.sanitized(appPushURL))
    }
    return url
  }

  private func warnOfPageProblem(_ service: SignInService, _ logger: Logger) {
    guard let problem = service.pageProblem(certificate: trustedProxy.isEmpty ? tlsCert : nil) else { return }
    logger.warning(
      "phones need a DNS name and a certificate that they trust to open the page",
      metadata: [
        "problem": "\(problem)",
        "hint": "--public-url https://NAME, and a certificate for it by an authority that phones know",
      ])
  }

  private func makeLogger() throws -> Logger {
    guard let level = Logger.Level(rawValue: logLevel) else { throw CommandProblem.badLogLevel(logLevel) }
    let format = logFormat
    var logger = Logger(label: "iampass-server") { label -> any LogHandler in
      switch format {
      case .text: TextLog(label: label)
      case .json: JSONLog()
      }
    }
    logger.logLevel = level
    return logger
  }
}
