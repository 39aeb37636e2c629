import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct SigningKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "signing-key", abstract: "Manage the keys that sign approval tokens.",
    subcommands: [ListCommand.self, RotateCommand.self])

  struct Options: ParsableArguments {
    @OptionGroup var place: DatabaseOptions

    /// Prints the keys that `work` gives, the newest first.
    func print(_ work: (any OperatorStore) async throws -> [PublishedKey]) async throws {
      let keys = try await explaining { try await work(try place.existing()) }
      for (place, key) in keys.enumerated() {
        try Output.say("\(key.id)  made=\(key.madeAt.text)  \(place == 0 ? "signs" : "still verifies")")
      }
    }
  }

  struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the keys that the service publishes, the newest first.",
      discussion: "Others find them at /.well-known/jwks.json. The first is made when it is first needed, or here.")

    @OptionGroup var options: Options

    func run() async throws { try await options.print { try await $0.publishedKeys(at: $0.now()) } }
  }

  struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "Make a new key, by which tokens are signed from now on.",
      discussion: """
        The key before it stays published, so that its tokens can be verified; an older one is removed. Rotate again \
        when the tokens' hour is over. The service may be running.
        """)

    @OptionGroup var options: Options

    func run() async throws { try await options.print { try await $0.rotatedKeys(at: $0.now()) } }
  }
}
