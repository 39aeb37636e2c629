import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct HostCredentialCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "host-credential", abstract: "Manage the credentials of single hosts.",
    discussion: """
      A host credential asks for sign-ins only, and phones are told its host, whatever that computer says of itself. \
      Root on that computer cannot register a phone for anybody.
      """,
    subcommands: [HostCredentialCreate.self, HostCredentialList.self, HostCredentialRevoke.self])
}

struct HostCredentialOptions: ParsableArguments {
  @Argument(help: "The application's name or id.")
  var application: String

  @OptionGroup var place: DatabaseOptions

  /// Runs `work` on the storage. Messages about its refusals have these names.
  ///
  /// - Parameter seal: where to find the keys of sealed secrets, if `work` makes a secret.
  func managing<Value>(
    name: String = "", host: String = "", isOpenID: Bool = false, by seal: SealOptions? = nil,
    _ work: (any OperatorStore) async throws -> Value
  ) async throws -> Value {
    try await explaining {
      let storage = try place.existing(by: seal?.keys())
      do { return try await work(storage) } catch let refusal as HostCredentialRefusal {
        throw CommandProblem(
          refusal, application: DisplayText.sanitized(application), name: DisplayText.sanitized(name),
          host: DisplayText.sanitized(host), isOpenID: isOpenID, known: await storage.knownApplications())
      }
    }
  }
}

struct HostCredentialCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make one and print it, this one time.",
    discussion: """
      The lines are a file for iampassctl setup --secret-file on that host. The secret is not shown again. The service \
      may be running.
      """)

  @OptionGroup var options: HostCredentialOptions

  @OptionGroup var seal: SealOptions

  @Argument(help: "What administrators call it.")
  var name: String

  @Option(help: "The host that phones show.")
  var host: String

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() async throws {
    try await options.managing(name: name, host: host, by: seal) { storage in
      // This is first: a failure after the secret was made would have to undo it.
      let server = try await storage.publicAddress()
      let credential = try await storage.createHostCredential(
        named: name, host: host, of: options.application, at: storage.now())
      let shown = NewCredential(id: credential.id, secret: credential.secret, server: server, host: credential.host)
      try await CredentialLines.show(shown, id: credential.id, json: json) {
        try await storage.revokeHostCredential(named: name, of: options.application, at: storage.now())
      }
    }
  }
}

struct HostCredentialList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List an application's host credentials, without their secrets.",
    discussion: "Shows name, host, id, and when each was made, last used and revoked. Times are UTC.")

  @OptionGroup var options: HostCredentialOptions

  @Flag(help: "Print a line of JSON for each, with Unix times.")
  var json = false

  func run() async throws {
    let credentials = try await options.managing { try await $0.hostCredentials(of: options.application) }
    try Output.say(credentials.map { json ? $0.jsonLine : $0.textLine })
  }
}

struct HostCredentialRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Refuse a host credential from now on.",
    discussion:
      "What it asked and nobody has answered is closed; sessions that were approved go on. It cannot be undone.")

  @OptionGroup var options: HostCredentialOptions

  @Argument(help: "Its name.")
  var name: String

  func run() async throws {
    try await options.managing(name: name) { storage in
      try await storage.revokeHostCredential(named: name, of: options.application, at: storage.now())
    }
  }
}

extension KnownCredential {
  private var placeName: String { isOpenID ? "shown" : "host" }

  var textLine: String {
    let times = [("made", createdAt as UnixTime?), ("used", lastUsedAt), ("revoked", revokedAt)]
    let said = times.compactMap { word, time in time.map { "\(word)=\($0.text)" } }
    return ([name, "\(placeName)=\(host)", "id=\(id)"] + said).joined(separator: "  ")
  }

  var jsonLine: String {
    func seconds(_ time: UnixTime?) -> JSON { time.map { .integer($0.seconds) } ?? .null }
    let members: JSON = .object([
      "name": .string(name), placeName: .string(host), "id": .string(id), "made": seconds(createdAt),
      "used": seconds(lastUsedAt), "revoked": seconds(revokedAt),
    ])
    return String(decoding: members.encoded(), as: UTF8.self)
  }
}
