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

  /// How often the words may be typed.
  private static let tries = 3

  @OptionGroup var options: ManagementOptions
  @Option(help: ArgumentHelp("The six words that the phone shows, instead of a question.", valueName: "words"))
  var words: String?
  @Flag(help: "The phone may also answer for other users, but for root, whom iampass-server helpdesk names.")
  var locum = false
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      let host = try ConfiguredHost(options)
      let user = try host.enrolledForSignIn(user)
      guard words != nil || Terminal.isInteractive else { throw CommandProblem.wordsNeeded(user.name) }
      // This first checks that the service knows the user and accepts the credential.
      guard try host.hasPhone(user) else { throw CommandProblem.noPhone(user.name) }
      guard let listed = try host.phones(of: user)?.phones else { throw CommandProblem.keysNotTold }
      guard !listed.isEmpty else { throw CommandProblem.noPhone(user.name) }
      try host.requireOwnPhones()
      let proven = try words.map { Self.phone(of: listed, with: $0) } ?? asked(listed, user, host)
      guard let proven else { throw CommandProblem.otherWords(user.name) }
      if locum { return try trustAsLocum(proven, user, host) }
      try host.pins.pin(proven, for: user.name, isOnly: listed.count == 1)
      Terminal.say("\(user.name)'s phone \(DisplayText.sanitized(proven.phone.name, limit: 64)) is pinned")
      try host.pins.tellOthers(than: proven, of: user.name)
    }
  }

  /// Pins the phone under the role's name. The administrator's name takes the place of the phone's, because the log and
  /// the user see it.
  private func trustAsLocum(_ proven: ProvenPhone, _ user: EnrolledUser, _ host: ConfiguredHost) throws(CommandProblem)
  {
    guard let role = UnixUsername(validating: PinnedPhones.locum) else { throw .badUsername(PinnedPhones.locum) }
    let named = UserPhonesReply.Phone(
      id: proven.phone.id, name: user.name.text, keys: proven.phone.keys, pinMAC: proven.phone.pinMAC,
      since: proven.phone.since)
    try host.pins.pin(named, for: role, isOnly: false)
    Terminal.say("\(user.name)'s phone may answer for users of this computer who have none at hand, but for root")
  }

  /// Nil if the words were not a phone's in any of the ``tries``.
  private func asked(
    _ listed: [UserPhonesReply.Phone], _ user: EnrolledUser, _ host: ConfiguredHost
  ) throws(CommandProblem) -> ProvenPhone? {
    let prompt = Prompt(interrupt: host.interrupt)
    Terminal.say("Read six words from \(user.name)'s phone: its page shows them, or iampass-phone status does.")
    for left in (0..<Self.tries).reversed() {
      if let proven = Self.phone(of: listed, with: try prompt.line("Six words: ")) { return proven }
      if left > 0 {
        Terminal.say(
          "the phone that the service has shows other words; " + (left == 1 ? "one more try" : "\(left) more tries"))
      }
    }
    return nil
  }

  private static func phone(of listed: [UserPhonesReply.Phone], with words: String) -> ProvenPhone? {
    listed.lazy.compactMap { ProvenPhone($0, words: words) }.first
  }
}
