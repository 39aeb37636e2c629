import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

extension DatabaseCommand {
  struct SealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "seal", abstract: "Seal secrets in the database by a key outside it.",
      discussion: """
        These are the keys that sign approval tokens and push messages, the keys for apps' notification services, and the \
        secrets of applications, computers and sessions, and where phones are rung. A missing file of keys is made. What \
        the first key of the file has sealed stays as it is. The packaged service is restarted if it does not have the \
        key yet. While another server runs without the key, nothing is sealed.
        """)

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    @Flag(help: "Add a new key to the file, and seal everything by it.")
    var newKey = false

    @Flag(help: "Only make the file, or add the new key: seal nothing yet.")
    var keyOnly = false

    @Flag(help: "Give up what a lost key has sealed, and begin with new keys. The service must be stopped.")
    var giveUpLostKey = false

    @Flag(help: "Do not ask before a lost key is given up.")
    var yes = false

    @Option(help: .hidden) var part: SealPart?

    func validate() throws {
      guard !giveUpLostKey || !newKey && !keyOnly else {
        throw ValidationError("--give-up-lost-key goes alone: it makes a new key if the file has none")
      }
    }

    func run() async throws {
      try await explaining {
        let file = try file()
        if part == .state { return try await Output.say(SealState(of: place.existing(by: nil)).text) }
        if giveUpLostKey, part == nil { return try await giveUp(by: file) }
        if let part { return try await run(part, file.read()) }
        let parts = SealParts(command: "seal", place: place, file: file)
        try await parts.state().check(file)
        // Root's file: this process stays root.
        let keys = try file.made(addingKey: newKey)
        guard !keyOnly else { return try Output.say("the key \(keys.firstID) is in \(keys.place)") }
        try parts.prepareServers()
        do { if try !parts.run(.database) { try await run(.database, keys) } } catch {
          // It may be sealed all the same, before a server that missed it, or files that could not be rewritten.
          if (try? await parts.state())?.keyID == keys.firstID { noteSealed(in: file) }
          throw error
        }
        noteSealed(in: file)
      }
    }

    /// Changes the database, or only looks at its servers.
    private func run(_ part: SealPart, _ keys: SealKeys) async throws {
      let storage = try place.existing(by: keys)
      if part == .loss { return try await giveUp(by: keys, in: storage) }
      let servers = try await storage.runningServers()
      let without = servers.filter { !$0.has(key: keys.firstID) }
      guard without.isEmpty else { throw CommandProblem.serversWithoutKey(keys, without) }
      let older = servers.filter { !$0.opensClients }
      guard older.isEmpty else { throw CommandProblem.serversTooOld(older) }
      guard part == .database else { return }
      let count = try await storage.sealSecrets(at: storage.now())
      // A server that starts first shows itself, and then looks at the seal: one that missed it is seen now.
      let late = try await storage.runningServers().filter { !$0.has(key: keys.firstID) }
      try await storage.erase(after: "sealed")
      try Output.say(Self.text(count, keys))
      guard late.isEmpty else { throw CommandProblem.serversMissedSeal(keys, late) }
    }

    private func giveUp(by file: SealKeyFile) async throws {
      if !yes {
        guard let questions = SetupQuestions(isAsked: true) else { throw CommandProblem.lossNotConfirmed }
        for line in Self.losses { Terminal.say(line) }
        guard try questions.agrees("Give up the lost key?") else { throw CommandProblem.lossNotConfirmed }
      }
      let parts = SealParts(command: "seal", place: place, file: file)
      try await parts.state().checkLoss(by: file)
      let keys = try file.made(addingKey: false)
      if try !parts.run(.loss) { try await run(.loss, keys) }
      noteSealed(in: file)
    }

    private func giveUp(by keys: SealKeys, in storage: any OperatorStore) async throws {
      if let id = try await storage.sealingKeyID(), keys.has(id) {
        // An earlier run may have been killed, or had no room, before its end.
        try await storage.erase(after: "given up")
        return try Output.say("nothing is left to give up: the key of this database is \(id) in \(keys.place)")
      }
      let servers = try await storage.runningServers()
      if let lost = try await storage.sealingKeyID(), servers.contains(where: { $0.has(key: lost) }) {
        throw CommandProblem.keyNotLost(lost)
      }
      guard servers.isEmpty else { throw CommandProblem.serversRun }
      guard let lost = try await storage.giveUpLostKey(at: storage.now()) else { throw CommandProblem.nothingLost }
      try await storage.erase(after: "given up")
      try Output.say(["gave up the key \(lost.id): the key is now \(keys.firstID) in \(keys.place)"] + Self.losses)
      try Output.say(lost.notifications.map { "removed the key for notifications of \($0)" })
      try Output.say(lost.clients.applications.map { "the application \($0) has a new secret, which nobody knows" })
      try Output.say(lost.clients.credentials.map { "revoked the credential \($0)" })
      try Output.say(lost.clients.joinings.map { "refused the computer \($0), which waited to join" })
      try Output.say(
        "next: start the service; give the keys for notifications with application notifications; have each computer join "
          + "again, and make a new secret for each application in the console")
    }

    private static let losses = [
      "approval tokens that were signed before cannot be verified any more: programs load the new key by themselves",
      "browsers' subscriptions end: each phone's user opens the page and turns notifications on again",
      "apps do not ring until the keys for Apple's and Google's services are given again",
      "every computer must join again, and every application and OpenID client needs a new secret: those that are sealed",
    ]

    private func noteSealed(in file: SealKeyFile) {
      do { try file.note(isSealed: true) } catch {
        Notice.tell(
          "\(file.path) does not say that the database is sealed, so that one in clear is served: \(error.explanation)")
      }
    }

    private func file() throws(CommandProblem) -> SealKeyFile {
      if let file = seal.file { return file }
      guard geteuid() == 0 else { throw .noSealKeyFile }
      return .usual
    }

    private static func text(_ count: Int, _ keys: SealKeys) -> String {
      """
      \(count == 0 ? "everything was sealed before" : "sealed \(count) \(count == 1 ? "secret" : "secrets")"): the key is \
      \(keys.firstID) in \(keys.place)
      keep a copy of that file away from the database: without it, neither the database nor a backup can be used
      every server of this database needs that file when it starts: iampass-server(8) says how, under SEALED SECRETS
      """
    }
  }

  struct UnsealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "unseal", abstract: "Store sealed secrets in clear again.",
      discussion: """
        The packaged service is restarted if it would refuse secrets in clear. While another such server runs, nothing is \
        unsealed. Sealed backups still need the file of keys.
        """)

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    @Option(help: .hidden) var part: SealPart?

    func run() async throws {
      try await explaining {
        if part == .state { return try await Output.say(SealState(of: place.existing(by: nil)).text) }
        if let part { return try await run(part, seal.keys()) }
        let parts = SealParts(command: "unseal", place: place, file: seal.file ?? .usual)
        // Another user than root may not be able to look whether there is the usual file.
        if seal.file != nil || geteuid() == 0 { try await parts.state().check(parts.file) }
        guard let file = seal.file else { return try await run(.database, nil) }
        let saidSealed = try file.known()?.requiresSeal ?? false
        do throws(FileError) { try file.note(isSealed: false) } catch {
          throw CommandProblem.sealKeyFile(error)
        }
        do {
          try parts.prepareServers()
          if try !parts.run(.database) { try await run(.database, file.read()) }
        } catch {
          if saidSealed { await noteStillSealed(parts, after: error) }
          throw error
        }
        // A seal that this has overtaken has put the line back.
        do throws(FileError) { try file.note(isSealed: false) } catch {
          throw CommandProblem.sealKeyFile(error)
        }
      }
    }

    /// The file says again that the database is sealed, unless servers must be restarted with a file that does not.
    private func noteStillSealed(_ parts: SealParts, after error: any Error) async {
      let code = (error as? ExitCode)?.rawValue ?? (error as? CommandProblem)?.exitCode
      guard code != SealParts.serversNotReady else { return }
      let path = DisplayText.sanitized(parts.file.path)
      // A database that does not answer is taken for a sealed one.
      if let state = try? await parts.state(), state.keyID == nil {
        return Notice.tell("the secrets are in clear, and \(path) says no more that they are sealed")
      }
      do { try parts.file.note(isSealed: true) } catch {
        Notice.tell("the secrets are sealed, but \(path) does not say so any more: \(error.explanation)")
      }
    }

    private func run(_ part: SealPart, _ keys: SealKeys?) async throws {
      let storage = try place.existing(by: keys)
      let refusing = try await storage.runningServers().filter(\.requiresSeal)
      guard refusing.isEmpty else { throw CommandProblem.serversRefuseClear(refusing) }
      guard part == .database else { return }
      let count = try await storage.unsealSecrets(at: storage.now())
      try Output.say(count == 0 ? "nothing is sealed" : "stored \(count) \(count == 1 ? "secret" : "secrets") in clear")
    }
  }
}

extension OperatorStore {
  /// - Parameter done: what was done before, for the message.
  fileprivate func erase(after done: String) async throws {
    do { try await eraseOverwritten() } catch {
      throw CommandProblem(
        message: "the secrets are \(done), but the database's files may still have them in clear: \(error)",
        hint: "make room on its disk, wait for other programs that hold it, and run this again", exitCode: EX_TEMPFAIL)
    }
  }
}

extension CommandProblem {
  fileprivate static func serversWithoutKey(_ keys: SealKeys, _ servers: [RunningServer]) -> CommandProblem {
    CommandProblem(
      message: "nothing was sealed: \(text(servers, "runs", "run")) on this database without the key \(keys.firstID)",
      hint: "start \(withCopy(of: keys)); then run: iampass-server database seal", exitCode: SealParts.serversNotReady)
  }

  /// The exit code does not have the command restart anything: that is over by then.
  fileprivate static func serversMissedSeal(_ keys: SealKeys, _ servers: [RunningServer]) -> CommandProblem {
    CommandProblem(
      message: """
        the database is sealed, but \(text(servers, "has", "have")) started meanwhile, without the key \(keys.firstID)
        """,
      hint: "restart \(withCopy(of: keys))", exitCode: SealParts.serversNotReady)
  }

  private static func withCopy(of keys: SealKeys) -> String {
    """
    each server with a copy of \(keys.place), by LoadCredential=\(SealKeyFile.credential):FILE in its unit or by \
    --seal-key-file
    """
  }

  fileprivate static func serversTooOld(_ servers: [RunningServer]) -> CommandProblem {
    CommandProblem(
      message:
        "nothing was sealed: \(text(servers, "runs", "run")) on this database in a version that reads no sealed secrets "
        + "of computers",
      hint: "restart each server in this version, and run this again", exitCode: SealParts.serversNotReady)
  }

  fileprivate static let lossNotConfirmed = CommandProblem(
    message: "nothing was given up", hint: "answer with y at a terminal, or give --yes", exitCode: EX_USAGE)

  fileprivate static func keyNotLost(_ id: String) -> CommandProblem {
    CommandProblem(
      message: "nothing was given up: a server that runs has the key \(id)",
      hint: "copy the file of keys from there: --seal-key-file, or \(SealParts.usualCredential)",
      exitCode: EX_CONFIG)
  }

  fileprivate static func serversRefuseClear(_ servers: [RunningServer]) -> CommandProblem {
    CommandProblem(
      message: "nothing was unsealed: \(text(servers, "refuses", "refuse")) a database that is not sealed",
      hint: """
        take the line iampass-sealed-1 out of each server's file of keys (here it is out now), restart the servers, and run \
        this again; to leave the database sealed: iampass-server database seal, which puts the line back
        """, exitCode: SealParts.serversNotReady)
  }

  /// - Parameters:
  ///   - one: the verb for one server.
  ///   - more: the verb for more.
  private static func text(_ servers: [RunningServer], _ one: String, _ more: String) -> String {
    let places = Set(servers.map(\.address)).subtracting([""]).sorted().joined(separator: ", ")
    let all = servers.count == 1 ? "a server" : "\(servers.count) servers"
    return "\(all)\(places.isEmpty ? "" : " (\(places))") \(servers.count == 1 ? one : more)"
  }
}
