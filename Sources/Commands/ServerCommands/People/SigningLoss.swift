import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// What is lost if administrators' phones begin again with another first set.
struct SigningLoss {
  /// Lines about keys of the last set that can still sign.
  private let keys: [String]

  /// - Parameter place: the options that name the database.
  /// - Returns: nil if nothing is lost: there is no set, or no other one would be made.
  init?(in place: [String]) throws(CommandProblem) {
    let lines = try AdministratorFirstSigners.lines(replacing: true, in: place)
    guard lines.contains(AdministratorFirstSigners.hasSet), lines.last != "0" else { return nil }
    keys = lines.filter { $0.hasPrefix("  ") }
  }

  var lines: [String] {
    let losses = [
      "all sets of administrators' keys and all signed lists go, and do not come back",
      "every computer that joined by a code of an earlier set refuses the new one: each must join again by a new code",
      "administrators' phones that have seen an earlier set do not sign under the new one: register them again before",
    ]
    guard !keys.isEmpty else { return losses }
    return losses + ["with one of these keys, administrator sign has the next set signed, and nothing goes:"] + keys
  }
}

/// For commands that are root's: the keys of the last set that can still sign, if another one would take its place, and at
/// last how many administrators' phones a first set would have.
struct AdministratorFirstSigners: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "first-signers", abstract: "Count the administrators whose phones a first set would have.",
    shouldDisplay: false)
  /// The line before the keys.
  static let hasSet = "keys of the last set:"

  @OptionGroup var place: DatabaseOptions
  @Flag var again = false

  func run() async throws {
    try await explaining {
      let storage = try place.existing()
      let keys = try await again ? Self.keys(in: storage) : []
      let count = try await storage.firstSigners(replacing: again).count
      try Output.say(keys + ["\(count)"])
    }
  }

  /// A phone that was given a screen lock is another key, and signs all the same.
  private static func keys(in storage: any OperatorStore) async throws -> [String] {
    guard let set = try await storage.administratorSets().last?.set else { return [] }
    let next = try await storage.nextAdministratorSet(.keep)?.set ?? set
    let phones = Set(next.phones.map(\.id))
    let left = set.keys.filter { key in
      switch key {
      case .phone(_, let phone): phones.contains(phone.id)
      case .recovery: true
      }
    }
    return [hasSet] + left.map { SigningText.line(of: $0) }
  }

  /// What this command prints in a process of its own.
  static func lines(replacing: Bool, in place: [String]) throws(CommandProblem) -> [String] {
    let words = ["administrator", "first-signers"] + (replacing ? ["--again"] : [])
    let done = try OwnCommand.run(words + place)
    guard done.status == 0 else { throw CommandProblem(ofCommand: done) }
    return done.output.split(separator: "\n").map(String.init)
  }
}

extension CommandProblem {
  static let signingKept = CommandProblem(
    message: "nothing was given up: administrators' keys and signed lists stay",
    hint: "answer with y at a terminal, or give --yes", exitCode: EX_USAGE)
}
