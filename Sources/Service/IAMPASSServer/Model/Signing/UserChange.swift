import IAMPASSProtocol

/// A change of the list of users that a computer asks for, and the decision from administrators' answers. Pure.
struct UserChange: Sendable {
  enum Step: Sendable {
    case wait
    case refuse(Reason)
    /// An administrator's phone has approved it by this session, which was not used yet.
    case perform(Session)
  }

  let request: UserChangeRequest
  let computer: KnownCredential
  let application: KnownApplication
  let challenge: ApprovalChallenge

  /// Nil if no challenge can be made for it.
  init?(_ request: UserChangeRequest, of computer: KnownCredential, in application: KnownApplication) {
    guard let challenge = request.challenge(for: computer.id) else { return nil }
    self.request = request
    self.computer = computer
    self.application = application
    self.challenge = challenge
  }

  /// The least role for this change, as in the console: the helpdesk may change phones and links too.
  var leastRole: AdministratorRole {
    switch request.act {
    case .enroll: .helpdesk
    case .add, .remove: .admin
    }
  }

  /// The context that the phone shows. The host comes from the credential, and only the asker's name from the computer.
  var context: SignInContext {
    SignInContext(
      host: computer.host, service: "users of \(application.name)", user: request.asker, command: request.text)
  }

  /// Whether the service itself has made this request: the challenge alone does not prove it, because a sign-in's
  /// client names one too.
  ///
  /// - Parameter own: the id of the administrators' application.
  func isAsked(by session: Session, own: String) -> Bool {
    session.application == own && session.credential == nil && session.challenge == challenge
      && session.context == context
  }

  /// - Parameters:
  ///   - asks: the requests to phones, which are all about this change.
  ///   - administrators: the users whose role is sufficient now.
  static func next(_ asks: [Session], administrators: Set<Int64>) -> Step {
    // A locum cannot answer for an administrator.
    let valid = asks.filter { ask in
      (ask.user.map(administrators.contains) ?? false) && (ask.answeredBy == nil || ask.answeredBy != ask.locum?.phone)
    }
    // One denial counts for all. An approval is used up when the computer gets it.
    if valid.contains(where: { [.denied, .notMe].contains($0.lifecycle.ending) }) { return .refuse(.changeDenied) }
    if valid.contains(where: { $0.lifecycle.ending == .wrongCode }) { return .refuse(.changeCodeWrong) }
    if let approved = valid.first(where: { $0.lifecycle.status == .active }) { return .perform(approved) }
    if valid.contains(where: { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .loggedOut }) {
      return .refuse(.changeUsed)
    }
    return valid.contains { $0.lifecycle.isUnanswered } ? .wait : .refuse(.changeNotAnswered)
  }
}
