import CommandSupport
import Glibc
import HostSystem
import IAMPASSServer

/// The values to set up: from options, present settings and the terminal. All of them were checked, and nothing was
/// written before.
struct SetupAnswers {
  /// The name of the application that is made if there is none yet.
  private static let usualApplication = "office"
  private static let secondQuestion = "Second administrator's name, if the first one's phone gets lost (Enter: none): "

  let name: PublicName
  let publicURL: String
  /// As administrators' browsers know the console.
  let consoleURL: String
  /// As `--push-contact`; nil: the public address is the contact.
  let pushContact: PushContact?
  /// The value of `--push-proxy`; nil: push services are reached directly.
  let pushProxy: PushProxy?
  let listen: ListenAddress
  let certificate: CertificateChoice
  /// The administrator's certificate; nil if the own authority makes one.
  let given: GivenPair?
  /// An application to make or to confirm; nil if none was requested and there already is one.
  let application: (name: String, secretFile: String)?
  let administrators: [String]

  init(_ command: SetupCommand, _ current: CurrentSetup, _ questions: SetupQuestions?) throws(CommandProblem) {
    let places = command.places
    listen = try ListenAddress(command.listen ?? current.listen ?? Self.usualListen)
    // An image may be made for another computer, whose address cannot be tested here.
    if command.starts || listen.text != current.listen { try Self.check(listen, places) }
    name = try Self.name(command, current, questions)
    // The present values stay, unless others were requested.
    let isSame = command.name == nil && command.listen == nil
    publicURL = isSame ? current.publicURL ?? Self.url(name, listen) : Self.url(name, listen)
    consoleURL = current.consoleURL ?? publicURL
    pushContact = try PushContact(ofOption: command.pushContact ?? current.pushContact)
    pushProxy = try PushProxy(ofOption: command.pushProxy ?? current.pushProxy)
    certificate = try Self.certificate(command, current, name, questions)
    given = try Self.given(certificate, name, places)
    let known = try ServiceApplications(data: places.data)
    application = try Self.application(command, known, questions)
    administrators = try Self.administrators(command, known, questions)
  }

  /// Whether Apple's push service accepts the contact.
  var ringsIPhones: Bool {
    PushContact.isPublic(host: pushContact.map(\.host) ?? (name.isAddress ? nil : name.text))
  }

  /// The summary that an administrator must confirm.
  var summary: [String] {
    let source =
      switch certificate {
      case .own: "of an authority of the service's own"
      case .files(let certificate, _): certificate
      case .certbot(let folder): "certbot's, in \(folder)"
      }
    return [
      "address        \(publicURL)", "listens on     \(listen.text)", "certificate    \(source)",
      pushContact.map { "push contact   \($0.text)" }, pushProxy.map { "push proxy     \($0.text)" },
      application.map { "application    \($0.name), its credential in \($0.secretFile)" },
    ].compactMap { $0 } + administrators.map { "administrator  \($0)" }
  }

  /// All addresses, even on a computer without IPv6.
  private static var usualListen: String {
    let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return "0.0.0.0:443" }
    close(descriptor)
    return "[::]:443"
  }

  private static func url(_ name: PublicName, _ listen: ListenAddress) -> String {
    "https://\(name.urlHost)" + (listen.port == 443 ? "" : ":\(listen.port)")
  }

  private static func name(
    _ command: SetupCommand, _ current: CurrentSetup, _ questions: SetupQuestions?
  ) throws(CommandProblem) -> PublicName {
    if let given = command.name { return try resolved(given) }
    if let known = current.name { return known }
    guard let questions else { throw .missingOption("--name") }
    return try questions.answer("Public name of the service, such as iampass.example.org: ", resolved)
  }

  /// A name that this computer can look up. Others then can too, unless only this computer's own files have it.
  private static func resolved(_ text: String) throws(CommandProblem) -> PublicName {
    guard let name = PublicName(text) else { throw .badName(text) }
    guard !name.isAddress else { return name }
    let patience: Int64 = 15
    let wait = SetupWait("until the name \(name.text) is found", seconds: patience)
    let found = Program.run(["/usr/bin/getent", "ahosts", name.text], seconds: patience, whileTrue: wait.goesOn)
    guard found?.status == 0 else { throw .nameNotFound(name.text) }
    return name
  }

  /// Tests whether the service could listen there. The service itself may already listen.
  private static func check(_ listen: ListenAddress, _ places: SetupPlaces) throws(CommandProblem) {
    guard listen.port != 0 else { throw .badListen(listen.text) }
    guard let obstacle = ListenProbe.obstacle(listen, forServiceOf: try places.account().user) else { return }
    throw .cannotListen(listen, obstacle)
  }

  private static func application(
    _ command: SetupCommand, _ known: ServiceApplications, _ questions: SetupQuestions?
  ) throws(CommandProblem) -> (name: String, secretFile: String)? {
    let name: String
    if let given = command.application {
      name = given
    } else if known.hasOne {
      return nil
    } else {
      let answer = try questions?.line("First application: computers that share their users [\(usualApplication)]: ")
      name = answer.flatMap { $0.isEmpty ? nil : $0 } ?? usualApplication
    }
    guard Application.isFit(name) else { throw CommandProblem(ApplicationRefusal.nameNotFit, name: "") }
    guard name != Administrators.application else { throw .ownApplication }
    let file = command.secretFile ?? "/root/" + plainFile(name)
    let isThere = try CredentialLinesFile(path: file) != nil
    guard isThere || !known.names.contains(name) else { throw .applicationIsThere(name, file) }
    return (name, file)
  }

  /// A file name made from the application's name.
  private static func plainFile(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-")
    }
    return isPlain ? name : "iampass-application"
  }

  /// Asks for administrators. A second one is recommended: if the only one's phone is lost, only root could make
  /// changes.
  private static func administrators(
    _ command: SetupCommand, _ known: ServiceApplications, _ questions: SetupQuestions?
  ) throws(CommandProblem) -> [String] {
    func fit(_ name: String) throws(CommandProblem) -> String {
      guard Administrators.isFit(name) else { throw .badAdministrator }
      return name
    }
    guard command.administrators.isEmpty else {
      return try command.administrators.map { (name) throws(CommandProblem) in try fit(name) }
    }
    guard !known.names.contains(Administrators.application), let questions else { return [] }
    var names: [String] = []
    for question in ["First administrator's name (Enter: none yet): ", secondQuestion] {
      let name = try questions.answer(question) { text throws(CommandProblem) in text.isEmpty ? nil : try fit(text) }
      guard let name else { break }
      if !names.contains(name) { names.append(name) }
    }
    return names
  }
}

extension SetupAnswers {
  private static func certificate(
    _ command: SetupCommand, _ current: CurrentSetup, _ name: PublicName, _ questions: SetupQuestions?
  ) throws(CommandProblem) -> CertificateChoice {
    let certbot = CertbotFiles(root: command.places.letsencrypt, name: name)
    if command.ownAuthority || command.newAuthority { return .own }
    if command.certbot { return .certbot(folder: certbot.folder) }
    if let certificate = command.tlsCert, let key = command.tlsKey {
      return .files(certificate: try absolute(certificate), key: try absolute(key))
    }
    if let known = current.certificate {
      // certbot's folder depends on the name.
      if case .certbot = known, command.name != nil { return .certbot(folder: certbot.folder) }
      return known
    }
    guard let questions else { return .own }
    let question =
      "Certificate: of an own authority (o), from files (f), certbot's (c) [\(certbot.isThere ? "c" : "o")]: "
    let word = try questions.answer(question) { text throws(CommandProblem) in
      let word = text.isEmpty ? (certbot.isThere ? "c" : "o") : text.lowercased()
      guard ["o", "f", "c"].contains(word) else { throw .badCertificateChoice(text) }
      return word
    }
    switch word {
    case "o": return .own
    case "c": return .certbot(folder: certbot.folder)
    default:
      return .files(
        certificate: try questions.answer("Certificate with its chain, in PEM: ", absolute),
        key: try questions.answer("Its private key, in PEM: ", absolute))
    }
  }

  private static func absolute(_ path: String) throws(CommandProblem) -> String {
    guard !path.contains(where: { $0.isWhitespace || "\"'\\".contains($0) }) else { throw .badPath(path) }
    guard let found = realpath(path, nil) else { throw CommandProblem(FileError(.missing, path: path)) }
    free(found)
    guard !path.hasPrefix("/") else { return path }
    // Links are not resolved: a renewal may change their targets.
    guard let folder = getcwd(nil, 0) else { throw CommandProblem(FileError(.system(errno), path: path)) }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// Reads and checks the files; nil if the own authority makes the certificate.
  private static func given(
    _ choice: CertificateChoice, _ name: PublicName, _ places: SetupPlaces
  ) throws(CommandProblem) -> GivenPair? {
    let now = Int64(time(nil))
    switch choice {
    case .own: return nil
    case .certbot(let folder):
      let files = CertbotFiles(root: places.letsencrypt, folder: folder)
      guard files.isThere else { throw .noCertbot(folder, name.text) }
      return try GivenPair(certificate: files.chain, key: files.key, for: name, at: now)
    case .files(let certificate, let key):
      let pair = try GivenPair(certificate: certificate, key: key, for: name, at: now)
      for path in [certificate, key] { try checkService(canRead: path, places) }
      return pair
    }
  }

  private static func checkService(canRead path: String, _ places: SetupPlaces) throws(CommandProblem) {
    // Tests have their files there, and no packaged unit.
    if places.unit == SetupPlaces.usualUnit, let folder = GivenPair.hiddenFolder(of: path) {
      throw .hidden(path, folder)
    }
    let (user, group) = try places.account()
    let asService = [
      "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "/usr/bin/test", "-r",
    ]
    guard Program.run(asService + [path])?.status == 0 else { throw .serviceCannotRead(path, places.user) }
  }
}
