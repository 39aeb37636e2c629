import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct ComputerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "computer", abstract: "List computers that have credentials of their own, and which were copied.",
    subcommands: [ComputerList.self, ComputerSettle.self])
}

struct ComputerList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List an application's computers, and what was noticed of copies.",
    discussion: """
      A computer tells a random mark with its request for the users' list, and renews it when it connects again. A \
      credential that is used with another mark than the last one is listed as copied-or-put-back: a copy of the disk, \
      or the same computer with a disk of before. If both marks go on being used, it is copied. Times are UTC.
      """)

  @OptionGroup var options: HostCredentialOptions

  @Flag(help: "Only those that may be copies.")
  var copied = false

  @Flag(help: "Print a line of JSON for each, with Unix times.")
  var json = false

  func run() async throws {
    let (computers, forks) = try await options.managing { storage in
      (
        try await storage.hostCredentials(of: options.application),
        try await storage.clonedComputers(of: options.application)
      )
    }
    let forkOf = Dictionary(forks.map { ($0.credential, $0) }) { first, _ in first }
    let lines = computers.filter { !$0.isRevoked && (!copied || forkOf[$0.id] != nil) }.map { one in
      json ? Self.jsonLine(one, forkOf[one.id]) : Self.textLine(one, forkOf[one.id])
    }
    try Output.say(lines)
  }

  private static func textLine(_ one: KnownCredential, _ fork: ClonedComputer?) -> String {
    let used = one.lastUsedAt.map { ["used=\($0.text)"] } ?? []
    return ([one.name, "host=\(one.host)"] + used + (fork.map(words) ?? [])).joined(separator: "  ")
  }

  private static func words(_ fork: ClonedComputer) -> [String] {
    [
      fork.areBothUsed ? "copied" : "copied-or-put-back", "address=\(fork.address ?? "-")",
      "other-address=\(fork.otherAddress ?? "-")", "since=\(fork.firstAt.text)", "last=\(fork.lastAt.text)",
    ]
  }

  private static func jsonLine(_ one: KnownCredential, _ fork: ClonedComputer?) -> String {
    let noticed: JSON? = fork.map { fork in
      .object([
        "are_both_used": .bool(fork.areBothUsed), "address": fork.address.map { .string($0) },
        "other_address": fork.otherAddress.map { .string($0) }, "since": .integer(fork.firstAt.seconds),
        "last": .integer(fork.lastAt.seconds),
      ])
    }
    let members: JSON = .object([
      "name": .string(one.name), "host": .string(one.host), "id": .string(one.id),
      "used": one.lastUsedAt.map { .integer($0.seconds) }, "copied": noticed,
    ])
    return String(decoding: members.encoded(), as: UTF8.self)
  }
}

struct ComputerSettle: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settle", abstract: "Forget what was noticed of a computer that may be a copy.",
    discussion: """
      Do so once the copy is gone or has joined by itself, or if you know that the disk was put back. A copy that is \
      still at work is noticed again.
      """)

  @OptionGroup var options: HostCredentialOptions

  @Argument(help: "The name of the computer's credential.")
  var name: String

  func run() async throws {
    let wasNoticed = try await options.managing(name: name) { storage in
      try await storage.settleComputer(named: name, of: options.application, at: storage.now())
    }
    let shown = DisplayText.sanitized(name)
    try Output.say([wasNoticed ? "\(shown) is settled" : "nothing was noticed of \(shown)"])
  }
}
