import ArgumentParser

struct PhoneCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "phone", abstract: "Lists the phones whose keys this computer trusts, pins one, or forgets it.",
    discussion: """
      With approvals = verified a sign-in needs the signature of a pinned phone. enroll pins the phone that opens its \
      link.
      """,
    subcommands: [PhoneList.self, PhoneTrustCommand.self, PhoneForget.self])
}
