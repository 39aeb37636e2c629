import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct ApplicationCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "application", abstract: "Manage the applications of the service.",
    subcommands: [
      ApplicationCreate.self, ApplicationList.self, ApplicationSet.self, ApplicationTake.self,
      NotificationsCommand.self,
    ])
}

extension MatchCodes: ExpressibleByArgument {}
extension SyncedPasskeys: ExpressibleByArgument {}

struct ApplicationCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make an application and print its credentials, this one time.",
    discussion: """
      The lines are a file for iampassctl setup --secret-file. The secret is not shown again. The service may be \
      running.
      """)

  @Argument(help: "What phones show as the one who asks.")
  var name: String

  @OptionGroup var place: DatabaseOptions

  @OptionGroup var seal: SealOptions

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode = MatchCodes.on

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() async throws {
    try await explaining {
      let storage = try place.openedOrMade(seal)
      do {
        // This is first: a failure after the secret was made would have to undo it.
        let server = try await storage.publicAddress()
        let application = try await storage.createApplication(named: name, matchCodes: matchCode, at: storage.now())
        let credential = NewCredential(id: application.id, secret: application.secret, server: server, host: nil)
        try await CredentialLines.show(credential, id: application.id, json: json) {
          try await storage.takeBack(application, at: storage.now())
        }
      } catch let refusal as ApplicationRefusal {
        throw CommandProblem(refusal, name: DisplayText.sanitized(name))
      }
    }
  }
}

/// The only place that shows a new secret: as lines of a file, or as JSON.
enum CredentialLines {
  /// Prints it. If that fails, the secret is lost, and `takeBack` undoes the change.
  static func show(
    _ credential: NewCredential, id: String, json: Bool, takeBack: () async throws -> Void
  ) async throws {
    // Otherwise a closed pipe would end the process before that.
    signal(SIGPIPE, SIG_IGN)
    let text = json ? String(decoding: credential.json.encoded(), as: UTF8.self) : credential.text
    guard let failure = Output.write([text]) else { return }
    do { try await takeBack() } catch { throw CommandProblem.secretLost(failure, id: id) }
    throw CommandProblem.secretNotPrinted(failure)
  }
}

struct ApplicationSet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change an application's settings.",
    discussion: "It holds for requests from now on. The service may be running.")

  @Argument(help: "The application's name.")
  var name: String

  @OptionGroup var place: DatabaseOptions

  @Option(help: "Whether phones ask for two digits that the terminal shows; required: of every computer.")
  var matchCode: MatchCodes?

  @Option(help: "Whether apps of your own may vouch for their user's face: the method facial.")
  var faces: FaceVouchers?

  @Option(help: ArgumentHelp("How many phones a user may register: 1 or 2. Both are asked.", valueName: "number"))
  var phones: Int64?

  @Option(help: "Whether a computer that may be a copy starts no sign-ins until computer settle.")
  var holdClones: YesNo?

  @Option(help: "Whether a phone's screen lock counts with a passkey that is synced to other devices.")
  var syncedPasskeys: SyncedPasskeys?

  func validate() throws {
    guard matchCode != nil || faces != nil || phones != nil || holdClones != nil || syncedPasskeys != nil else {
      throw ValidationError("give --match-code, --faces, --phones, --hold-clones or --synced-passkeys")
    }
    guard phones.map(ApplicationSettings.phoneCounts.contains) ?? true else {
      throw ValidationError("--phones takes 1 or 2")
    }
  }

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      do {
        try await storage.set(
          SettingsChange(
            matchCodes: matchCode, appsVouchForFaces: faces.map { $0 == .apps }, phones: phones,
            holdsClones: holdClones.map { $0 == .yes },
            acceptsSyncedPasskeys: syncedPasskeys.map { $0 == .accepted }),
          ofApplicationNamed: name)
      } catch let refusal as ApplicationRefusal {
        throw CommandProblem(
          refusal, name: DisplayText.sanitized(name), known: await storage.knownApplications())
      }
    }
    let shown = DisplayText.sanitized(name)
    try Output.say(
      [
        matchCode.map { "match codes of \(shown) are \($0.rawValue)" },
        faces.map { $0 == .apps ? "apps of \(shown) vouch for faces" : "apps of \(shown) do not vouch for faces" },
        phones.map {
          $0 == 1 ? "users of \(shown) may register one phone" : "users of \(shown) may register \($0) phones"
        },
        holdClones.map { "computers of \(shown) that may be copies are \($0 == .yes ? "held" : "not held")" },
        syncedPasskeys.map { "synced passkeys of phones of \(shown) are \($0.rawValue)" },
      ].compactMap(\.self))
  }
}

enum YesNo: String, CaseIterable, ExpressibleByArgument { case yes, no }

/// What may vouch for a recognized face.
enum FaceVouchers: String, CaseIterable, ExpressibleByArgument { case off, apps }

struct ApplicationList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the applications, without their secrets.",
    discussion: "Shows name, id and the number of users. The service may be running.")

  @OptionGroup var place: DatabaseOptions

  @Flag(help: "Print a line of JSON for each.")
  var json = false

  func run() async throws {
    let found = try await explaining { try await place.existing().listedApplications() }
    try Output.say(found.map { json ? $0.jsonLine : $0.textLine })
  }
}

extension ListedApplication {
  fileprivate var textLine: String { "\(DisplayText.sanitized(name))  users=\(users)  id=\(id)" }

  fileprivate var jsonLine: String {
    let members: JSON = .object(["name": .string(name), "id": .string(id), "users": .integer(users)])
    return String(decoding: members.encoded(), as: UTF8.self)
  }
}

/// Only for `setup`, which writes the administrator's file first. An interrupted setup goes on with the same secret.
struct ApplicationTake: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "take", abstract: "Make an application with the id and the secret in standard input's two lines.",
    shouldDisplay: false)

  @Argument var name: String

  @OptionGroup var place: DatabaseOptions

  @OptionGroup var seal: SealOptions

  func run() async throws {
    guard let data = place.data else { throw CommandProblem.setupOnDatabase }
    guard let id = readLine(), let secret = readLine() else { throw ExitCode(EX_USAGE) }
    try await explaining {
      let keys = try seal.keys()
      try ActingUser.become(ownerOf: data)
      var storage = try SQLiteStorage(folder: data)
      storage.sealKeys = keys
      do {
        _ = try await storage.take(Application(id: id, name: name, secret: Secret(secret)), at: storage.now())
      } catch let refusal as ApplicationRefusal {
        throw CommandProblem(refusal, name: DisplayText.sanitized(name))
      }
    }
  }
}
