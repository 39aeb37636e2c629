import ArgumentParser
import CommandSupport
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct PhoneTrustCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust", abstract: "Pins a user's registered phone after its six words were compared.",
    discussion: """
      The phone's page shows the words, and so does iampass-phone status. Have them read from the phone itself: the \
      service could show others.
      """)

  /// Times that the words may be typed.
  private static let tries = 3

  @OptionGroup var options: ManagementOptions
  @Option(help: ArgumentHelp("The six words that the phone shows, instead of a question.", valueName: "words"))
  var words: String?
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingFailures {
      let host = try ConfiguredHost(options)
      let user = try host.enrolledForSignIn(user)
      guard words != nil || Terminal.isInteractive else { throw Failure.wordsNeeded(user.name) }
      // Says first whether the user is known and the credential accepted.
      guard try host.hasPhone(user) else { throw Failure.noPhone(user.name) }
      guard let told = try host.phones(of: user) else { throw Failure.keysNotTold }
      guard !told.isEmpty else { throw Failure.noPhone(user.name) }
      try host.requireOwnPhones()
      let proven = try words.map { Self.phone(of: told, with: $0) } ?? asked(told, user, host)
      guard let proven else { throw Failure.otherWords(user.name) }
      try host.pins.pin(proven, for: user.name, isOnly: told.count == 1)
      Terminal.say("\(user.name)'s phone \(DisplayText.sanitized(proven.phone.name, limit: 64)) is pinned")
      try host.pins.tellOthers(than: proven, of: user.name)
    }
  }

  /// Nil if the words were not a phone's in any of the ``tries``.
  private func asked(
    _ told: [UserPhonesReply.Phone], _ user: EnrolledUser, _ host: ConfiguredHost
  ) throws(Failure) -> ProvenPhone? {
    let prompt = Prompt(interrupt: host.interrupt)
    Terminal.say("Read six words from \(user.name)'s phone: its page shows them, or iampass-phone status does.")
    for left in (0..<Self.tries).reversed() {
      if let proven = Self.phone(of: told, with: try prompt.line("Six words: ")) { return proven }
      if left > 0 {
        Terminal.say(
          "the phone that the service has shows other words; " + (left == 1 ? "one more try" : "\(left) more tries"))
      }
    }
    return nil
  }

  private static func phone(of told: [UserPhonesReply.Phone], with words: String) -> ProvenPhone? {
    told.lazy.compactMap { ProvenPhone($0, words: words) }.first
  }
}
