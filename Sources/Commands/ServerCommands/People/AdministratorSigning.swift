import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

struct AdministratorStartSigning: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start-signing", abstract: "Have administrators' phones sign the lists of users from now on.",
    discussion: """
      Makes the first set of the keys that sign: all phones of administrators with the role admin. Join codes that are \
      made from then on name it. Each later set needs a signature by a key of the set before.
      """)

  @OptionGroup var place: DatabaseOptions
  @Flag(
    help: """
      Begin with another first set, if all keys are lost: it asks before. Register administrators' phones again before; \
      computers that joined by codes of an earlier set must join again.
      """)
  var again = false
  @Flag(help: "Begin again without asking.") var yes = false
  @Flag(help: "Have a recovery key in it, too, which is shown this one time at a terminal, and is in a file otherwise.")
  var recoveryKey = false
  @OptionGroup var recoveryOptions: RecoveryKeyOptions

  func validate() throws {
    guard !yes || again else { throw ValidationError("--yes is for --again: nothing else asks") }
  }

  func run() async throws {
    try await explaining {
      // Both are done before the process becomes another user.
      try ask()
      let recovery = try self.recovery()
      let storage = try place.existing()
      try recovery?.show { try Output.say($0) }
      let outcome = try await storage.createAdministratorSet(
        replacing: again, recovery: recovery?.wish ?? .keep, at: storage.now())
      if case .made = outcome {} else if let recovery { Notice.tell(recovery.doesNotCount) }
      switch outcome {
      case .exists:
        throw CommandProblem(
          message: "administrators' phones sign here already",
          hint: "administrator sign has changes signed; if all keys are lost: start-signing --again",
          exitCode: EX_DATAERR)
      case .noPhone:
        throw CommandProblem(
          message: "no administrator with the role admin has a phone",
          hint: "iampass-server administrator link NAME shows a link", exitCode: EX_DATAERR)
      case .made(let set):
        try Output.say(SigningText.lines(of: set))
        if again {
          Notice.tell(
            "computers that have joined with codes of an earlier set refuse this one, and so do administrators' phones "
              + "that have seen an earlier one: iampassctl join --again --give-up-administrators, with a new code; a phone "
              + "that refuses is registered again, and this begun again"
          )
        }
        if let recovery {
          try Output.say(recovery.counts)
        } else {
          Notice.tell("make a recovery key, too: iampass-server administrator recovery-key")
        }
      }
    }
  }

  /// Returns if the user agrees, or if nothing would be lost.
  private func ask() throws {
    guard again, !yes, let loss = try SigningLoss(in: place.words) else { return }
    guard let questions = SetupQuestions(isAsked: true) else { throw CommandProblem.signingKept }
    for line in loss.lines { Terminal.say(line) }
    guard try questions.agrees("Give all of this up?") else { throw CommandProblem.signingKept }
  }

  /// Nil if none is wanted, or if no set would be made.
  private func recovery() throws -> FirstRecoveryKey? {
    guard recoveryKey || recoveryOptions.recoveryKeyFile != nil else { return nil }
    guard try FirstRecoveryKey.signerCount(replacing: again, in: place.words) > 0 else { return nil }
    return try FirstRecoveryKey(recoveryOptions)
  }
}

struct AdministratorSign: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign", abstract: "Have a phone sign who the administrators are now.",
    discussion: """
      After a change of administrators with the role admin, or of their phones. The service has to run; a recovery key \
      needs neither service nor phone: who comes and who goes is shown, and signed if you agree.
      """)

  @OptionGroup var place: DatabaseOptions
  @Option(name: .customLong("as"), help: ArgumentHelp("Whose phone signs.", valueName: "name"))
  var administrator: String?
  @Option(
    help: ArgumentHelp(
      "Sign with the recovery key in this file, which is its owner's alone; -: standard input.", valueName: "file"),
    completion: .file())
  var recoveryKey: String?
  @Flag(help: "Sign with the recovery key without asking.") var yes = false

  func validate() throws {
    guard administrator == nil || recoveryKey == nil else {
      throw ValidationError("--as and --recovery-key exclude each other")
    }
    guard !yes || recoveryKey != nil else { throw ValidationError("--yes is for --recovery-key: a phone always asks") }
  }

  func run() async throws {
    try await explaining {
      // This is done before the process becomes another user.
      let key = try recoveryKey.map(Self.key)
      let storage = try place.existing()
      guard let key else { return try await sign(storage) }
      try await sign(storage, with: key)
    }
  }

  private func sign(_ storage: any OperatorStore, with key: RecoveryKey) async throws {
    guard try await !storage.administratorSets().isEmpty else { throw CommandProblem.noAdministratorSet }
    guard let next = try await storage.nextAdministratorSet(.keep) else {
      return try Output.say("nothing has changed, or nobody would be left who signs")
    }
    try Output.say(
      ["this is signed as the administrators, number \(next.set.number):"] + next.changes.map { "  " + $0 })
    try ask()
    let proof: DocumentProof
    do { proof = try key.proof(of: next.set) } catch { throw CommandProblem.recoveryKeyNotMade }
    if let outcome = try await storage.keepAdministratorSet(next.set, proof, at: storage.now()) {
      let why = outcome == .notProven ? "this is another recovery key" : outcome.rawValue
      throw CommandProblem(
        message: "the set was not taken: \(why)",
        hint: "iampass-server administrator list shows the keys", exitCode: EX_NOPERM)
    }
    try Output.say(SigningText.lines(of: next.set))
  }

  /// Returns if the user agrees, or if no question is needed.
  private func ask() throws {
    guard !yes else { return }
    guard let questions = SetupQuestions(isAsked: true) else { throw CommandProblem.nobodyAgrees }
    guard try questions.agrees("Sign this?") else { throw CommandProblem.notSigned }
  }

  private func sign(_ storage: any OperatorStore) async throws {
    let wait = SignatureWait(storage: storage)
    let name = try await wait.administrator(administrator)
    let outcome = try await wait.sign(.administrators(.keep), by: name)
    if let problem = CommandProblem(outcome, by: name) { throw problem }
    guard let set = try await storage.administratorSets().last?.set else { throw CommandProblem.noAdministratorSet }
    try Output.say(outcome == .nothing ? ["everything is signed"] : SigningText.lines(of: set))
  }

  private static func key(_ path: String) throws -> RecoveryKey {
    let text: Secret
    if path == "-" {
      text = Secret(readLine() ?? "")
    } else {
      var found = stat()
      guard stat(path, &found) == 0, found.st_mode & 0o077 == 0 else {
        throw CommandProblem(
          message: "\(DisplayText.sanitized(path)) is not there, or others can read it", hint: "chmod 600 it",
          exitCode: EX_NOPERM)
      }
      text = Secret(String(decoding: try SettingFile.read(path), as: UTF8.self))
    }
    guard let key = RecoveryKey(text) else { throw CommandProblem.notARecoveryKey }
    return key
  }
}

struct AdministratorRecoveryKey: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery-key", abstract: "Make a recovery key, show it once, and have a phone sign that it counts.",
    discussion: """
      It signs sets of administrators, and no list of users. Write it down, and keep it off computers. It takes the place \
      of an earlier one.
      """)

  @OptionGroup var place: DatabaseOptions
  @Option(name: .customLong("as"), help: ArgumentHelp("Whose phone signs.", valueName: "name"))
  var administrator: String?

  func run() async throws {
    try await explaining {
      let wait = SignatureWait(storage: try place.existing())
      let name = try await wait.administrator(administrator)
      let key: RecoveryKey
      do { key = try RecoveryKey.generate() } catch { throw CommandProblem.recoveryKeyNotMade }
      // The key is shown first: a valid key that was never shown would be worse than none.
      try Output.say([
        "The recovery key, which is shown this one time:", "  " + key.exposedText,
        "Its words, which the phone shows: " + PhoneKeys(publicKey: key.publicKey.text, credential: nil).words,
      ])
      let outcome = try await wait.sign(.administrators(.replace(key.publicKey)), by: name)
      if let problem = CommandProblem(outcome, by: name) {
        Notice.tell("this key does not count: throw it away")
        throw problem
      }
      try Output.say("it counts from now on")
    }
  }
}

/// Texts about signatures.
enum SigningText {
  static func lines(of set: AdministratorSet) -> [String] {
    ["administrators, number \(set.number):"] + set.keys.map { line(of: $0) }
  }

  static func line(of key: AdministratorSet.Key) -> String {
    switch key {
    case .phone(let name, let phone): "  phone of \(DisplayText.sanitized(name))  \(phone.keys.words)"
    case .recovery(_, let key):
      "  recovery key  \(PhoneKeys(publicKey: key.text, credential: nil).words)"
    }
  }

  /// Lines about unsigned changes; empty if there are none.
  static func unsigned(_ state: SigningState, at now: UnixTime) -> [String] {
    guard state.set != nil else { return [] }
    let administrators =
      state.setChanges.isEmpty
      ? []
      : [
        "changes of administrators are not signed: \(state.setChanges.joined(separator: "; "))"
          + SigningState.words(since: state.setUnsignedSince, at: now)
          + SigningState.words(failed: state.failed.isSetConcerned, reason: state.failed.setReason)
      ]
    return administrators + state.lists.compactMap { unsigned($0, in: state, at: now) }
  }

  /// A line about the list's unsigned changes; nil if there are none.
  static func unsigned(_ list: SigningState.List, in state: SigningState, at now: UnixTime) -> String? {
    guard !list.isSigned else { return nil }
    return reason(list, at: now)
      + SigningState.words(
        failed: state.failed.applications.contains(list.application), reason: state.failed.reasons[list.application])
  }

  private static func reason(_ list: SigningState.List, at now: UnixTime) -> String {
    let name = DisplayText.sanitized(list.name)
    if list.head == nil { return "\(name): no list of users was signed yet" }
    if list.isOfOtherEpoch { return "\(name): the list of users was not signed since the database was put back" }
    if list.isSignerGone {
      return
        "\(name): who signed the list of users is not among the administrators any more, or these changed too often"
    }
    let count = list.changes.count
    let age = SigningState.words(since: list.unsignedSince, at: now)
    return "\(name): \(count) \(count == 1 ? "change is" : "changes are") not signed yet\(age)"
  }
}
