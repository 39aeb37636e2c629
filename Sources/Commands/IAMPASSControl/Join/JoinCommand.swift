import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

struct JoinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Joins this computer to a service, by a code of its administrator.",
    discussion: """
      The code names the service's certificate: nobody else is believed, and nobody else gets the code. Makes this \
      computer's own credential, writes iampass.conf and credentials, and checks this computer. It waits if \
      the code asks for an administrator's approval. Broken off, it goes on when it is run again with the same code; on a \
      computer that has joined it changes nothing, unless --enable is given.
      """)

  private static let trial = "10m"

  @OptionGroup var host: HostOptions
  @Option(help: "What this computer is called (default: its host name). Phones show it.") var name: String?
  @Option(help: "How long to wait for approval, such as 15m.") var wait = "15m"
  @Flag(help: "Ask nothing, and turn nothing on.") var yes = false
  @Flag(help: "Have sign-ins ask the phone at once, as iampassctl enable does.") var enable = false
  @Flag(help: "Give up the service for which this computer is set up.") var again = false
  @Flag(
    help: """
      Give up the administrators whose phones sign this computer's list of users: believe those that the code names or, if \
      it names none, the service alone.
      """)
  var giveUpAdministrators = false
  @Argument(help: "The service's address, https://…") var server: String
  @Argument(help: "The code; - reads it from standard input, where other users do not see it.") var code: String

  func validate() throws {
    guard let seconds = TimeSpan.seconds(wait), (1...86_400).contains(seconds) else {
      throw ValidationError("--wait takes a duration from 1s to 24h")
    }
  }

  func run() throws {
    try reportingProblems {
      try requireRoot()
      if try join() || enable {
        let users = fetchUsers()
        let report = Doctor(place: host.place, pamFolder: PAMProfiles.folder).look()
        for finding in report.findings where finding.level != .ok { finding.show() }
        Terminal.say(report.summary)
        try offer(users)
      }
    }
  }

  /// - Returns: false if the computer had joined before.
  private func join() throws(CommandProblem) -> Bool {
    let text = code == "-" ? readLine() ?? "" : code
    guard let code = JoinCode(text) else { throw .join(.badCode) }
    let address = try SetupAnswers.address(server)
    guard address.isEncrypted else { throw .join(.notEncrypted) }
    let computer = try computerName()
    guard mkdir(host.folder, 0o755) == 0 || errno == EEXIST else {
      throw .file(FileError(.system(errno), path: host.folder))
    }
    let interrupt = Interrupt()
    let (configuration, note) = try prepared(address, code, computer)
    guard let note else {
      Terminal.say("this computer has joined \(address) already")
      return false
    }
    let former = FormerAdministrators(
      stateFolder: configuration.stateFolder, credential: try SetupAnswers.credential(at: host.place.credentials),
      areGivenUp: giveUpAdministrators)
    try former.check(code)
    let call = JoinCall(server: address, code: code, configuration: configuration, interrupt: interrupt)
    let anchor = try call.anchor()
    Terminal.say("\(address) shows the certificate that the code names")
    let joined: JoinedComputer
    do throws(CommandProblem) {
      joined = try call.run(note, by: anchor, waiting: (TimeSpan.seconds(wait) ?? 0) * 1_000)
    } catch {
      // A refused secret must not be used again with the next code.
      if case .refused? = error.cause as? JoinProblem { JoinNote.forget(in: host.folder) }
      throw error
    }
    Terminal.say("joined \(joined.application) as \(joined.host)")
    let fleet = try former.settled(joined.fleet)
    try write(joined, fleet, note, address, configuration, code.anchor == .authority ? anchor : nil, interrupt)
    if fleet == nil { former.tellWhatServes(configuration) }
    return true
  }

  /// Fetches the list of users. The helper keeps it from then on.
  ///
  /// - Returns: false if there is none yet.
  private func fetchUsers() -> Bool {
    do throws(CommandProblem) {
      let setup: HostSetup
      do { setup = try HostSetup(path: host.path) } catch { throw .misconfigured(error, path: host.path) }
      let count = try JoinUsers(setup, interrupt: Interrupt()).fetch()
      Terminal.say(count == 1 ? "the service lists 1 user" : "the service lists \(count) users")
      return true
    } catch {
      Terminal.complain("warning: the users are not here yet: \(error.message)")
      if case .administratorsRefused? = error.cause as? JoinProblem {
        error.hint.map { Terminal.complain("hint: \($0)") }
      }
      return false
    }
  }

  private func computerName() throws(CommandProblem) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, 255) == 0 else { throw .file(FileError(.system(errno), path: "/etc/hostname")) }
    let own = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let computer = name ?? own
    guard JoinRequest.isName(computer) else { throw .join(.badName(computer)) }
    return computer
  }

  /// - Returns: nil in place of a note if this computer has joined that service.
  private func prepared(
    _ address: ServerURL, _ code: JoinCode, _ computer: String
  ) throws(CommandProblem) -> (Configuration, JoinNote?) {
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    let configuration = try SetupAnswers.configuration(at: host.path)
    let known = try SetupAnswers.credential(at: host.place.credentials)
    if let server = configuration.server, known != nil, !again {
      guard server == address else { throw .join(.setUpAlready(server.description)) }
      JoinNote.forget(in: host.folder)
      return (configuration, nil)
    }
    return (
      configuration, try JoinNote.kept(in: host.folder, server: address, code: code, computer: computer)
    )
  }

  /// Tries the credential, and writes all files together.
  private func write(
    _ joined: JoinedComputer, _ fleet: Fleet?, _ note: JoinNote, _ address: ServerURL, _ configuration: Configuration,
    _ authority: CertificateBundle?, _ interrupt: Interrupt
  ) throws(CommandProblem) {
    let answers = SetupAnswers(
      configuration: configuration, server: address,
      credential: ServiceCredential(applicationID: joined.credential, secret: note.secret, host: joined.host),
      authority: .init(
        certificates: authority, path: "\(host.folder)/\(SetupFiles.authority)", isSigned: fleet != nil))
    let trial = try SetupTrial(answers, interrupt: interrupt)
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    let former = try SetupAnswers.credential(at: host.place.credentials)?.applicationID
    try keep(fleet, for: joined.credential, since: former, in: RunFolder(path: configuration.stateFolder))
    try SetupFiles(folder: host.folder, name: host.place.name, answers: answers, trial: trial).write()
    try forgetFleets(except: [joined.credential, former], in: RunFolder(path: configuration.stateFolder))
    JoinNote.forget(in: host.folder)
  }

  /// Before the credential is there: no moment has the credential, and not whose phones sign its list. What is kept for
  /// the credential of before stays beside it; if nothing is, that one goes on believing the service.
  private func keep(
    _ fleet: Fleet?, for credential: String, since former: String?, in state: RunFolder
  ) throws(CommandProblem) {
    guard let fleet else {
      do { return try Fleet.believeService(as: credential, in: state) } catch { throw .file(error) }
    }
    do {
      if let former, former != credential { try Fleet.keepBelieving(former, in: state) }
      _ = try fleet.write(in: state)
      // The state folder itself may be new.
      try FolderFlush.settle(SecureFile.folder(of: state.path))
    } catch { throw .file(error) }
    Terminal.say("the list of users counts if \(fleet.signers) signs it by phone")
  }

  /// Removes the administrators of all other credentials. Those of the former credential stay until the next join: the
  /// helper may still ask for its list, which it must not accept unsigned.
  private func forgetFleets(except credentials: [String?], in state: RunFolder) throws(CommandProblem) {
    do { try Fleet.forget(except: credentials.compactMap { $0 }, in: state) } catch { throw .file(error) }
  }

  /// - Parameter hasUsers: whether there is a list of users. Without it sign-in by phone would not work.
  private func offer(_ hasUsers: Bool) throws {
    guard hasUsers || !enable else { throw CommandProblem.join(.notEnabled) }
    var arguments = ["--config=\(host.path)"] + (yes ? ["--yes"] : [])
    if !enable {
      // A trial begins only if nothing is on.
      guard Trial.canBegin else { return Terminal.say("next: iampassctl check") }
      guard hasUsers, !yes, Terminal.isInteractive,
        try Prompt(interrupt: Interrupt()).agrees("Have sign-ins ask the phone, for a trial of \(Self.trial)?")
      else { return Terminal.say("next: \(SSHDropIn.nextCommand(trial: Self.trial))") }
      arguments += ["--trial", Self.trial]
    }
    try EnableCommand.parse(arguments).run()
  }
}
