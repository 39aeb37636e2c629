import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// The steps of a setup, each of which can be repeated.
struct SetupWork {
  /// The placeholder for a file that this computer does not know.
  private static let unknownAuthority = "AUTHORITY"
  /// The number of computers that may join with the code that a setup shows.
  private static let joinUses = 10

  private let places: SetupPlaces
  private let folder: SetupFolder
  private let answers: SetupAnswers
  private let makesAnotherAuthority: Bool
  private let recoveryOptions: RecoveryKeyOptions
  private let unit: ServiceUnit?
  /// Whether the service ran before, or should have run.
  private let wasWanted: Bool
  /// The settings before the setup.
  private let before: ServiceSettings
  private let after: ServiceSettings
  private let kept: KeptFiles
  private let keptSettings: [UInt8]?

  /// Collects and checks the values to set up. Writes nothing.
  init(_ command: SetupCommand) throws(CommandProblem) {
    places = command.places
    folder = try places.setupFolder()
    before = try places.readSettings()
    keptSettings = try places.settingsBytes()
    kept = try folder.keep()
    makesAnotherAuthority = command.newAuthority || folder.isChangingAuthority
    recoveryOptions = command.recovery
    unit = command.starts ? ServiceUnit(name: places.unit) : nil
    wasWanted = unit?.isWanted ?? false
    let questions = SetupQuestions(isAsked: !command.yes)
    answers = try SetupAnswers(command, try CurrentSetup(before, folder: folder), questions)
    after = try Self.settings(before, answers, folder)
    if let questions {
      for line in answers.summary { Terminal.say(line) }
      guard try questions.agrees("Set up the service like this?") else { throw .notAgreed }
    }
  }

  private static func settings(
    _ before: ServiceSettings, _ answers: SetupAnswers, _ folder: SetupFolder
  ) throws(CommandProblem) -> ServiceSettings {
    var settings = before
    settings.set(.listen, to: answers.listen.text)
    settings.remove(.certbot)
    switch answers.certificate {
    case .own:
      for key in [ServiceSettings.Key.certificate, .key] { settings.set(key, to: folder.ownPair) }
    case .files(let certificate, let key):
      settings.set(.certificate, to: certificate)
      settings.set(.key, to: key)
    case .certbot(let live):
      for key in [ServiceSettings.Key.certificate, .key] { settings.set(key, to: folder.certbotPair) }
      settings.set(.certbot, to: live)
    }
    do throws(SettingNotPlain) {
      if let contact = answers.pushContact, try settings.option(.pushContact) != contact.text {
        try settings.set(.pushContact, to: contact.text)
      }
      if let proxy = answers.pushProxy, try settings.option(.pushProxy) != proxy.text {
        try settings.set(.pushProxy, to: proxy.text)
      }
      try settings.set(.publicURL, to: answers.publicURL)
    } catch { throw CommandProblem(error) }
    return settings
  }

  /// Writes the certificates first, because the settings refer to them.
  func writeFiles() throws(CommandProblem) {
    try folder.make()
    switch answers.certificate {
    case .own: try makeOwn()
    case .certbot(let live):
      if let given = answers.given { _ = try folder.takeCertbot(key: given.key, chain: given.chain) }
      try CertbotFiles(root: places.letsencrypt, folder: live).writeHook()
    case .files: break
    }
    try SetupInterruption.check()
    guard after != before else { return }
    try folder.noteRestart()
    try places.write(after)
    Terminal.say("wrote \(places.settings)")
  }

  private func makeOwn() throws(CommandProblem) {
    let now = Int64(time(nil))
    let known = makesAnotherAuthority ? nil : try folder.ownAuthority()
    let authority: OwnAuthority
    if let known {
      authority = known
    } else {
      authority =
        makesAnotherAuthority
        ? try folder.changeAuthority(for: answers.name, at: now)
        : try folder.makeAuthority(for: answers.name, at: now)
      Terminal.say("\(makesAnotherAuthority ? "changed to another" : "made an") authority: \(folder.authority)")
    }
    try SetupInterruption.check()
    let facts = folder.leafFacts(for: answers.name, by: authority, at: now)
    guard case .make = LeafRenewal.decide(facts, at: now) else { return }
    let leaf = try folder.makeLeaf(for: answers.name, by: authority, at: now)
    Terminal.say("made a certificate for \(answers.name.text), good until \(UnixTime(seconds: leaf.ends).text)")
  }

  /// Starts the service. If it does not listen, or a signal ends the wait, the old files are restored.
  func start() throws(CommandProblem) {
    do {
      try SetupInterruption.check()
      guard let unit else {
        return Terminal.say("the service is not started: systemctl restart \(places.unit)")
      }
      // If only files were renewed, no restart is needed, and connections go on.
      if !folder.needsRestart, try unit.reload() { return }
      try unit.restart(listeningOn: answers.listen)
      try folder.forgetRestart()
      Terminal.say("the service listens on \(answers.listen.text)")
    } catch {
      guard after != before else { throw error }
      try putBack()
      throw .settingsPutBack(error)
    }
  }

  /// Restores the old files. Signals do not end this.
  private func putBack() throws(CommandProblem) {
    Terminal.say("putting the settings of before back")
    try folder.restore(kept)
    try places.restore(keptSettings)
    guard let unit, let old = try? CurrentSetup(before, folder: folder).listen ?? "127.0.0.1:8443",
      let address = try? ListenAddress(old)
    else { return }
    // If this fails too, the next setup starts the service.
    do throws(CommandProblem) {
      guard wasWanted else { return try unit.stop() }
      try unit.restart(listeningOn: address, heedsSignals: false)
      try folder.forgetRestart()
      Terminal.say("the service listens on \(old) again")
    } catch { error.report(by: "iampass-server") }
  }

  /// Writes the administrator's file first: if this is interrupted, the next setup continues with the file's secret.
  func makeApplication() throws(CommandProblem) {
    try SetupInterruption.check()
    try places.makeData()
    guard let (name, path) = answers.application else { return }
    let known = try CredentialLinesFile(path: path)
    let application: Application
    do {
      application =
        try known.map { Application(id: $0.id, name: name, secret: Secret($0.secret)) } ?? Application(new: name)
    } catch let refusal as ApplicationRefusal {
      throw CommandProblem(refusal, name: DisplayText.sanitized(name))
    } catch { throw CommandProblem(unexpected: error) }
    let lines = NewCredential(id: application.id, secret: application.secret, server: answers.publicURL, host: nil)
    do { try AtomicFile.write(Array((lines.text + "\n").utf8), to: path, mode: 0o600) } catch {
      throw CommandProblem(error)
    }
    let refusal = try ServiceApplications.take(
      name, id: application.id, secret: application.secret.exposedValue, data: places.data)
    if let refusal {
      // The service does not know the file's secret.
      if known == nil { unlink(path) }
      throw refusal
    }
    Terminal.say("application \(name): its credential is in \(path), which manages users and phones: root's alone")
    try SetupInterruption.check()
  }

  /// Prints links and the next steps. It does not need root.
  ///
  /// - Returns: the note of the change of authority that this setup has made; nil without one.
  func tell() async throws -> AuthorityChangeNote? {
    let authority = clientAuthority
    // This is done as root, who may read the certificate.
    let anchor = joinAnchor
    let change = try folder.openedChange()
    let signing = try SetupSigning(answers, data: places.data, recoveryOptions)
    try ActingUser.become(ownerOf: places.data)
    let url = try ServerURL(ofOption: answers.publicURL)
    let console = try ServerURL(ofConsoleOption: answers.consoleURL)
    // The commands that make links know the address before the first start.
    let storage = try SQLiteStorage(folder: places.data)
    try await storage.setServiceAddress(answers.consoleURL)
    try await storage.setPublicAddress(answers.publicURL)
    for name in answers.administrators { try await invite(name, storage, url) }
    try await signing?.begin(storage)
    try await warnOfOne(storage)
    let code = try await storage.createConsoleLink(at: storage.now())
    Terminal.say("\nThe console, for one browser, within ten minutes:")
    Terminal.say("  " + console.route(["console", "enter", code.exposedValue]))
    try await tellOfComputers(joiningBy: anchor, storage, url, authority: authority)
    if authority == folder.authority {
      Terminal.say("Phones must trust the authority too: import \(folder.authority) on each.")
    }
    if authority == Self.unknownAuthority {
      Terminal.say("  \(Self.unknownAuthority) is a file with the authority of the service's certificate, in PEM")
    }
    if !answers.ringsIPhones {
      Terminal.say("iPhones do not ring by the page: Apple refuses a contact whose name is private. To let them ring:")
      Terminal.say("  iampass-server setup --push-contact mailto:ADDRESS")
    }
    if let failure = Terminal.outputError { throw CommandProblem.notPrinted(failure) }
    return change
  }

  /// The anchor for joins; nil if the certificate's authority is not in the service's certificate file.
  private var joinAnchor: JoinAnchor? {
    let shown: String
    switch answers.certificate {
    case .own: shown = folder.ownPair
    case .files(let certificate, _): shown = certificate
    case .certbot: shown = folder.certbotPair
    }
    do { return try JoinAnchor(certificate: shown, settings: places.settings) } catch {
      error.report(by: "iampass-server")
      return nil
    }
  }

  private func tellOfComputers(
    joiningBy anchor: JoinAnchor?, _ storage: SQLiteStorage, _ url: ServerURL, authority: String?
  ) async throws {
    let known = try await storage.listedApplications().map(\.name)
    let application = answers.application?.name ?? known.first { $0 != Administrators.application }
    guard let anchor, let application else {
      Terminal.say("On each computer:")
      let file = answers.application?.secretFile ?? "FILE"
      return Terminal.say(
        "  iampassctl setup --server \(answers.publicURL) --secret-file \(file)\(authority.map { " --ca \($0)" } ?? "")"
      )
    }
    let code = try await NewJoinCode.make(
      for: application, at: url, anchor: anchor, uses: Self.joinUses, days: 1, isUnattended: false, in: storage)
    Terminal.say("Users, by their Unix names:")
    Terminal.say("  iampass-server user add \(application) NAME --data \(places.data)")
    Terminal.say("On each computer, \(Self.joinUses) at most, within a day:")
    Terminal.say("  " + code.command)
    Terminal.say("Each waits until you approve it, in the console or here:")
    Terminal.say("  iampass-server join-code approve NAME --data \(places.data)")
  }

  /// One lost phone must not leave nobody to approve.
  private func warnOfOne(_ storage: SQLiteStorage) async throws {
    let admins = try await storage.administrators().filter { $0.role == .admin }
    guard admins.count == 1, let only = admins.first else { return }
    let name = DisplayText.sanitized(only.name)
    Terminal.say("\n\(name) is the only administrator. If that phone gets lost, here as root:")
    Terminal.say("  iampass-server administrator link NAME --lost --data \(places.data)")
    Terminal.say("A second one, on another person's phone:")
    Terminal.say("  iampass-server administrator add NAME --role admin --data \(places.data)")
  }

  private func invite(_ name: String, _ storage: SQLiteStorage, _ url: ServerURL) async throws {
    // An existing administrator keeps the role.
    let change = try await storage.addAdministrator(name, role: .admin, at: storage.now())
    guard change != .nameNotFit else { throw CommandProblem.badAdministrator }
    switch try await storage.invitation(ofAdministrator: name, isLost: false, at: storage.now()) {
    case .unknown: throw CommandProblem.badAdministrator
    case .hasPhone: Terminal.say("\nadministrator \(name) has a phone already")
    case .code(let code):
      let link = url.route(["register", code.exposedValue])
      Terminal.say("\nadministrator \(name): open this link on their phone, within 15 minutes; it works once:")
      TerminalCode.show(link)
      Terminal.say("  " + link)
    }
  }

  /// The authority file that computers need; nil if their system already trusts the certificate.
  private var clientAuthority: String? {
    let chain: String
    switch answers.certificate {
    case .own: return folder.authority
    case .files(let certificate, _): chain = certificate
    case .certbot: chain = folder.certbotPair
    }
    let verified = Program.run(["/usr/bin/openssl", "verify", "-untrusted", chain, chain])
    return verified?.status == 0 ? nil : Self.unknownAuthority
  }
}
