import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A phone that has just registered, and is to be written into `/etc/iampass/phones`.
struct ArrivedPhone {
  let host: ConfiguredHost
  let user: EnrolledUser
  let proof: KeyProof

  /// Pins the phone if its keys are proven. Prints the result.
  ///
  /// - Returns: the pinned keys; nil if none were.
  func pin() throws(CommandProblem) -> PhoneKeys? {
    switch proof {
    case .untold:
      Terminal.say("the service does not tell the phone's keys, so this computer does not pin the phone")
      return nil
    case .words:
      Terminal.say("this computer has not pinned the phone yet")
      Terminal.say("hint: \(Self.comparison(user.name))")
      return nil
    case .link(let link):
      guard let listed = try listed() else { return nil }
      guard let proven = Self.proven(listed, link) else {
        complain(Self.doubt(listed))
        return nil
      }
      try pin(proven, among: listed)
      Terminal.say("this computer has pinned the phone")
      try host.pins.tellOthers(than: proven, of: user.name)
      return proven.phone.keys
    }
  }

  /// Pins the phone again if its keys have changed, such as by a screen lock that was added on the same page.
  func pinAgain(after pinned: PhoneKeys) throws(CommandProblem) {
    guard case .link(let link) = proof, let listed = try listed(), !listed.contains(where: { $0.keys == pinned }) else {
      return
    }
    guard let proven = Self.proven(listed, link) else { return complain(Self.doubt(listed)) }
    try pin(proven, among: listed)
    Terminal.say("this computer has pinned the phone's new keys")
  }

  private func pin(_ proven: ProvenPhone, among listed: [UserPhonesReply.Phone]) throws(CommandProblem) {
    try host.pins.pin(proven, for: user.name, isOnly: listed.count == 1)
  }

  /// The user's phones at the service; nil, with a printed reason, if it does not answer. The phone is registered in
  /// any case.
  private func listed() throws(CommandProblem) -> [UserPhonesReply.Phone]? {
    do throws(CommandProblem) {
      if let reply = try host.phones(of: user) { return reply.phones }
      complain("the service does not tell the phone's keys any more")
    } catch {
      if error == .interrupted { throw .stoppedWaiting(user.name) }
      complain(error.message)
    }
    return nil
  }

  private static func proven(_ listed: [UserPhonesReply.Phone], _ link: PinningLink) -> ProvenPhone? {
    listed.lazy.compactMap { ProvenPhone($0, by: link) }.first
  }

  /// Why none of these phones is proven.
  private static func doubt(_ listed: [UserPhonesReply.Phone]) -> String {
    listed.contains { $0.pinMAC != nil }
      ? "the keys that the service tells are not those of a phone that opened this link"
      : "the phone has not proven its keys by the link's secret"
  }

  private func complain(_ reason: String) {
    Terminal.complain("warning: \(user.name)'s phone is registered, but this computer does not pin it: \(reason)")
    Terminal.complain("hint: \(Self.comparison(user.name))")
  }

  static func comparison(_ user: UnixUsername) -> String { "iampassctl phone trust \(user), which compares six words" }
}
