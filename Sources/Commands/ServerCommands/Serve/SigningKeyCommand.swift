import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

struct SigningKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "signing-key", abstract: "Manage the keys that sign approval tokens.",
    subcommands: [ListCommand.self, RotateCommand.self])

  struct Options: ParsableArguments {
    @OptionGroup var place: DatabaseOptions
    @OptionGroup var seal: SealOptions

    /// Prints the keys that `work` gives, newest first.
    func print(_ work: (any OperatorStore) async throws -> [PublishedKey]) async throws {
      let keys = try await explaining { try await work(try place.existing(seal)) }
      try Output.say(keys.map { "\($0.id)  made=\($0.madeAt.text)  \(Self.text(of: $0.use))" })
    }

    private static func text(of use: PublishedKey.Use) -> String {
      switch use {
      case .signsFrom(let time): "signs from \(time.text)"
      case .signs: "signs"
      case .verifies: "still verifies"
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
      commandName: "rotate", abstract: "Make a new key, by which tokens are signed in 15 minutes.",
      discussion: """
        Until then it is only published, so that whoever keeps a copy of the keys learns of it. A key that signs no more \
        stays published until its last token is over. The service may be running.
        """)

    @OptionGroup var options: Options

    @Flag(help: "Sign by it at once, and remove all other keys: no token of theirs can be verified any more.")
    var now = false

    func run() async throws {
      try await options.print { storage in
        guard let keys = try await storage.rotatedKeys(at: storage.now(), isUrgent: now) else {
          throw CommandProblem.keyIsNew
        }
        return keys
      }
    }
  }
}

extension CommandProblem {
  fileprivate static let keyIsNew = CommandProblem(
    message: "the newest key does not sign yet",
    hint: "signing-key list says when it does; rotate --now replaces all keys at once, if one was stolen",
    exitCode: EX_TEMPFAIL)
}
