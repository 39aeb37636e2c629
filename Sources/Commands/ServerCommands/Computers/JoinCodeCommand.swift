import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct JoinCodeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join-code", abstract: "Manage the codes by which computers join: iampassctl join.",
    discussion: """
      A code names the service's certificate, so that a computer believes nobody else. It is good for one computer and \
      one day unless options say otherwise, and each computer waits until an administrator approves it: here, or in the \
      console.
      """,
    subcommands: [
      JoinCodeCreate.self, JoinCodeList.self, JoinCodeRevoke.self, JoinCodeApprove.self, JoinCodeRefuse.self,
    ])
}

struct JoinCodeCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make one and print it, this one time.",
    discussion: """
      Prints the line to type on computers. The certificate is that of the packaged service unless --certificate names \
      another. If this system trusts it, computers go by their own system's authorities after the join; otherwise the \
      last certificate of the file is taken as the authority that they trust from then on. The service may be running.
      """)

  @Argument(help: "The application's name or id.")
  var application: String

  @OptionGroup var place: DatabaseOptions

  @Option(help: "How many computers may join by it.") var uses = 1
  @Option(help: "How many days it is good for.") var days = 1
  @Flag(help: "Whoever has the code joins without an administrator's approval.") var unattended = false

  @Option(help: "Give the computers the users of this group only.") var group: String?

  @Option(
    help: ArgumentHelp("What the service shows in TLS, with its chain, in PEM.", valueName: "file"),
    completion: .file())
  var certificate: String?

  @Option(help: ArgumentHelp("The service's address (default: as it was started).", valueName: "url"))
  var url: String?

  @Option(name: .customLong("settings"), help: .hidden, completion: .file())
  var settingsFile = "/etc/default/iampass-server"

  func validate() throws {
    guard JoinOrder.usesRange.contains(uses) else { throw ValidationError("--uses takes a number from 1 to 10000") }
    guard JoinOrder.daysRange.contains(days) else { throw ValidationError("--days takes a number from 1 to 366") }
  }

  func run() async throws {
    try await explaining {
      // This is done as root, before the process becomes the data's owner.
      let anchor = try JoinAnchor(certificate: certificate, settings: settingsFile)
      let storage = try place.existing()
      var address = url
      if address == nil { address = try await storage.publicAddress() }
      if address == nil { address = try await storage.serviceAddress() }
      guard let address else { throw CommandProblem.noAddress }
      let made = try await NewJoinCode.make(
        for: application, at: try ServerURL(ofOption: address), anchor: anchor, uses: uses, days: days,
        isUnattended: unattended, group: group ?? "", in: storage)
      try Output.say(made.lines)
    }
  }
}

struct JoinCodeList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the codes, without their secrets, and who asked by each.",
    discussion: "Times are UTC. A waiting computer shows the same six digits as its line here.")

  @OptionGroup var place: DatabaseOptions

  func run() async throws {
    try await explaining {
      var lines: [String] = []
      for listed in try await place.existing().joinCodes() {
        lines.append(listed.textLine)
        lines += listed.joinings.map(\.textLine)
      }
      try Output.say(lines)
    }
  }
}

struct JoinCodeRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Let no computer join by a code any more.",
    discussion: "Computers that wait are refused; those that have joined stay. It cannot be undone.")

  @OptionGroup var place: DatabaseOptions
  @Argument(help: "The code's id, as join-code list shows it.") var id: String

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      guard try await storage.revokeJoinCode(id, at: storage.now()) else { throw CommandProblem.unknownJoinCode(id) }
    }
  }
}

struct JoinCodeApprove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve", abstract: "Let a computer join that waits.",
    discussion: "Compare the six digits of join-code list with those at the computer first, or give those here.")

  @OptionGroup var place: DatabaseOptions
  @OptionGroup var seal: SealOptions
  @Argument(help: "The computer's name.") var name: String
  @Argument(help: "The six digits that the computer shows: no other one of its name joins.") var digits: String?

  func run() async throws { try await JoinDecisions.decide(name, digits, isApproved: true, place, seal) }
}

struct JoinCodeRefuse: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refuse", abstract: "Refuse a computer that waits.")

  @OptionGroup var place: DatabaseOptions
  @Argument(help: "The computer's name.") var name: String

  func run() async throws { try await JoinDecisions.decide(name, isApproved: false, place) }
}

enum JoinDecisions {
  /// - Parameter seal: where to find the keys of sealed secrets: a computer's is sealed again once it joins.
  static func decide(
    _ name: String, _ digits: String? = nil, isApproved: Bool, _ place: DatabaseOptions, _ seal: SealOptions? = nil
  ) async throws {
    try await explaining {
      let storage = try place.existing(by: seal?.keys())
      var joining = name
      if let digits {
        let waiting = try await storage.joinCodes().flatMap(\.joinings).first {
          $0.state == .waiting && $0.name == name && $0.mark == digits
        }
        guard let waiting else { throw CommandProblem.otherDigits(DisplayText.sanitized(name)) }
        joining = waiting.id
      }
      switch try await storage.decideJoin(joining, isApproved: isApproved, at: storage.now()) {
      case .done(let joining):
        try Output.say(
          "\(joining.name) (\(joining.mark), from \(joining.address)): \(isApproved ? "joins" : "refused")")
      case .unknown, .several: throw CommandProblem.notWaiting(DisplayText.sanitized(name))
      case .expired: throw CommandProblem.joinCodeExpired(DisplayText.sanitized(name))
      case .nameTaken: throw CommandProblem.computerNameTaken(DisplayText.sanitized(name))
      }
    }
  }
}

extension ListedJoinCode {
  fileprivate var textLine: String {
    var words = [
      code.id, application, "used=\(joinings.count)/\(code.uses)", "made=\(code.createdAt.text)",
      "expires=\(code.expiresAt.text)",
    ]
    if !code.group.isEmpty { words.append("group=\(code.group)") }
    if code.isUnattended { words.append("unattended") }
    if let revoked = code.revokedAt { words.append("revoked=\(revoked.text)") }
    return words.joined(separator: "  ")
  }
}

extension Joining {
  fileprivate var textLine: String {
    "  \(name)  \(state.rawValue)  digits=\(mark)  address=\(address)  asked=\(askedAt.text)"
  }
}

extension CommandProblem {
  static func unknownJoinCode(_ id: String) -> CommandProblem {
    CommandProblem(
      message: "there is no join code \(DisplayText.sanitized(id))", hint: "iampass-server join-code list",
      exitCode: 65)
  }

  static func notWaiting(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "no computer \(name) waits, or several of that name do",
      hint: "iampass-server join-code list",
      exitCode: 65)
  }

  static func otherDigits(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "no computer \(name) with these digits waits",
      hint: "iampass-server join-code list; refuse a computer that shows others", exitCode: 65)
  }

  static func joinCodeExpired(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "the code by which \(name) asked has expired",
      hint: "make another with join-code create, and let the computer join by that", exitCode: 65)
  }

  static func computerNameTaken(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "another computer \(name) has joined",
      hint: "free its name with host-credential revoke, or refuse this one with join-code refuse", exitCode: 65)
  }
}
