import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

struct SetupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Set up the packaged service: name, certificate, application, administrator.",
    discussion: """
      Asks at a terminal for what is neither given nor set up yet. Run again, it changes only what is asked for; broken \
      off, it goes on where it stopped. Ends with the line to type on computers.
      """)

  static let administrators = Administrators.application

  @Option(help: "The name by which computers and phones know the service, such as iampass.example.org.")
  var name: String?

  @Option(help: ArgumentHelp("Where to listen (default: [::]:443).", valueName: "address:port"))
  var listen: String?

  @Flag(help: "Have an authority of the service's own, made here, sign its certificate.")
  var ownAuthority = false

  @Flag(help: "The same, and make another authority, which computers and phones must then be told.")
  var newAuthority = false

  @Option(help: ArgumentHelp("Use this certificate with its chain, in PEM.", valueName: "file"), completion: .file())
  var tlsCert: String?

  @Option(help: ArgumentHelp("Its private key, in PEM.", valueName: "file"), completion: .file())
  var tlsKey: String?

  @Flag(help: "Use certbot's certificate for the name, also after each renewal.")
  var certbot = false

  @Option(help: "Make this application, for computers that share their users (default: office, if there is none).")
  var application: String?

  @Option(
    help: ArgumentHelp("Where to write the application's credential (default: /root/NAME).", valueName: "file"),
    completion: .file())
  var secretFile: String?

  @Option(
    name: .customLong("administrator"),
    help: "Make this administrator, and show a link for their phone. Give it twice: phones get lost.")
  var administrators: [String] = []

  @Option(
    help: ArgumentHelp(
      "Whom the push services' operators may write to, such as mailto:admin@example.org.", valueName: "address"))
  var pushContact: String?

  @Option(
    help: ArgumentHelp("A proxy through which push services are reached, such as http://proxy:3128.", valueName: "url"))
  var pushProxy: String?

  @Flag(help: "Ask nothing: take the defaults for what is not given.")
  var yes = false

  @Flag(help: "Write the files, and do not start the service.")
  var noStart = false

  /// For the refusal, which says how such a service is set up.
  @Option(help: .hidden) var database: String?

  @OptionGroup var recovery: RecoveryKeyOptions

  @OptionGroup var places: SetupPlaces

  func validate() throws {
    guard (tlsCert == nil) == (tlsKey == nil) else { throw ValidationError("give --tls-cert and --tls-key together") }
    let choices = [ownAuthority || newAuthority, tlsCert != nil, certbot].filter(\.self)
    guard choices.count <= 1 else {
      throw ValidationError("give one of --own-authority, --certbot, and --tls-cert with --tls-key")
    }
    if let secretFile, !secretFile.hasPrefix("/") { throw ValidationError("--secret-file takes a path from /") }
  }

  /// Whether systemd must start the service. It does not run while an image is built.
  var starts: Bool { !noStart && ServiceUnit.isThere }

  func run() async throws {
    try await explaining {
      guard database == nil else { throw CommandProblem.setupOnDatabase }
      guard geteuid() == 0 else { throw CommandProblem.notRoot }
      // Also without a start: the unit's service would never see what is made in the data directory.
      guard !ServiceUnit.isThere || !ServiceUnit(name: places.unit).hasOtherDatabase else {
        throw CommandProblem.otherDatabase
      }
      SetupInterruption.endsAtOnce()
      let lock = try places.lock()
      defer { withExtendedLifetime(lock) {} }
      let work = try SetupWork(self)
      SetupInterruption.waitsForSteps()
      try work.writeFiles()
      try work.start()
      try work.makeApplication()
      try SetupInterruption.check()
      SetupInterruption.endsTelling()
      let change = try await work.tell()
      SetupInterruption.endsNothing()
      // This comes after all other steps.
      try change?.empty()
    }
  }
}
