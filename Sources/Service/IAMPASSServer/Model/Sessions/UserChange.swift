import IAMPASSProtocol

/// A change of the list of users that a computer asks for, and what follows from what administrators' phones said. Pure.
struct UserChange: Sendable {
  enum Step: Sendable {
    case wait
    case refuse(Reason)
    /// An administrator's phone approved it by this session, which nobody has used yet.
    case perform(Session)
  }

  let request: UserChangeRequest
  let computer: HostCredential
  let application: Application
  let challenge: ApprovalChallenge

  /// Nil if there is no challenge for it.
  init?(_ request: UserChangeRequest, of computer: HostCredential, in application: Application) {
    guard let challenge = request.challenge(for: computer.id) else { return nil }
    self.request = request
    self.computer = computer
    self.application = application
    self.challenge = challenge
  }

  /// As in the console: phones and links are the helpdesk's, too.
  var leastRole: AdministratorRole {
    switch request.act {
    case .enroll: .helpdesk
    case .add, .remove: .admin
    }
  }

  /// What the phone shows: the host is the credential's, and only the asker is the computer's word.
  var context: SignInContext {
    SignInContext(
      host: computer.host, service: "users of \(application.name)", user: request.asker, command: request.text)
  }

  /// Whether the service itself asked this, by these words: a sign-in's client names a challenge, too.
  ///
  /// - Parameter own: the id of the administrators' application.
  func isAsked(by session: Session, own: String) -> Bool {
    session.application == own && session.credential == nil && session.challenge == challenge
      && session.context == context
  }

  /// - Parameters:
  ///   - asks: the requests on phones, of which each is about this change.
  ///   - administrators: the users whose role is enough, now.
  static func next(_ asks: [Session], administrators: Set<Int64>) -> Step {
    // Nobody stands in for an administrator.
    let valid = asks.filter { ask in
      (ask.user.map(administrators.contains) ?? false) && (ask.answeredBy == nil || ask.answeredBy != ask.locum?.phone)
    }
    // One denial counts for all, and an approval was used up by the computer that is told so.
    if valid.contains(where: { [.denied, .notMe].contains($0.lifecycle.ending) }) { return .refuse(.changeDenied) }
    if valid.contains(where: { $0.lifecycle.ending == .wrongCode }) { return .refuse(.changeCodeWrong) }
    if let approved = valid.first(where: { $0.lifecycle.status == .active }) { return .perform(approved) }
    if valid.contains(where: { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .loggedOut }) {
      return .refuse(.changeUsed)
    }
    return valid.contains { $0.lifecycle.isUnanswered } ? .wait : .refuse(.changeNotAnswered)
  }
}
