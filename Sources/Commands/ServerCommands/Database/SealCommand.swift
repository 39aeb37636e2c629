import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

extension DatabaseCommand {
  struct SealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "seal", abstract: "Seal the service's own keys in the database by a key outside it.",
      discussion: """
        These are the keys that sign approval tokens and push messages, and the keys for apps' notification services. A \
        missing file of keys is made. What the first key of the file has sealed stays as it is. A service that runs \
        without the key refuses what needs one of these secrets: start it with the key first.
        """)

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    @Flag(help: "Add a new key to the file, and seal everything by it.")
    var newKey = false

    @Flag(help: "Only make the file, or add the new key: seal nothing yet.")
    var keyOnly = false

    func run() async throws {
      try await explaining {
        // Root's file, before this process becomes another user.
        let keys = try file().made(addingKey: newKey)
        guard !keyOnly else { return try Output.say("the key \(keys.firstID) is in \(keys.place)") }
        let storage = try place.existing(by: keys)
        let count = try await storage.sealSecrets(at: storage.now())
        try await storage.erase(after: "sealed")
        try Output.say(Self.text(count, keys))
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
      next: start the service with this key, as iampass-server(8) says under SEALED SECRETS
      """
    }
  }

  struct UnsealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "unseal", abstract: "Store the service's own keys in clear again.",
      discussion: "The service may be running. Sealed backups still need the file of keys.")

    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    func run() async throws {
      try await explaining {
        let storage = try place.existing(seal)
        let count = try await storage.unsealSecrets(at: storage.now())
        try Output.say(
          count == 0 ? "nothing is sealed" : "stored \(count) \(count == 1 ? "secret" : "secrets") in clear")
      }
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
