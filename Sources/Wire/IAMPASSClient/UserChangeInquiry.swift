import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The state of a change of the service's list of users.
public enum UserChangeAnswer: Sendable, Equatable {
  /// - Parameter code: two digits for the administrators' phones; nil if they ask for none, or the code was sent
  ///   before.
  case waiting(asks: [String], code: String?)
  /// - Parameters:
  ///   - administrator: the name of the approving administrator.
  ///   - link: the registration link for the user's phone.
  case done(administrator: String, link: String?)
}

extension AuthenticationClient {
  /// Asks for a change of the list of users, or for its result. Only a host credential may ask.
  ///
  /// - Parameter waitSeconds: how long the service may hold its reply; nil: it replies at once.
  /// - Throws: ``MessageError/refused(reason:)`` in ``ServiceError/badReply(_:)`` for a refused change, and
  ///   ``ServiceError/notFound`` by a service without this route.
  public func change(
    _ change: UserChangeRequest, waitSeconds: Int64? = nil, deadline: MonotonicInstant
  ) throws(ServiceError) -> UserChangeAnswer {
    let (reply, asked) = try exchange(change, waitSeconds, deadline)
    switch try understood({ () throws(MessageError) in try UserChangeReply(parsing: reply.body) }) {
    case .waiting(let asks, let code): return .waiting(asks: asks, code: code)
    case .done(let administrator, let sealed):
      var link: String?
      if let sealed {
        link = channel.seal.opened(sealed, by: asked)
        guard link != nil else { throw .badReply(.member("sealed_register_url")) }
      }
      guard (change.act == .enroll) == (link != nil) else { throw .badReply(.member("sealed_register_url")) }
      return .done(administrator: administrator, link: link)
    }
  }

  /// Withdraws the change: the phones are no longer asked.
  ///
  /// - Throws: ``MessageError/refused(reason:)`` if the change was approved before, and may have been made.
  public func withdraw(_ change: UserChangeRequest, deadline: MonotonicInstant) throws(ServiceError) {
    try acknowledged(exchange(change, nil, deadline).reply)
  }

  /// The reply's signature must cover the target, so that a reply to another change is not taken for this one's.
  private func exchange(
    _ change: UserChangeRequest, _ waitSeconds: Int64?, _ deadline: MonotonicInstant
  ) throws(ServiceError) -> (reply: HTTPReply, asked: SealedRequest) {
    let body = change.encoded()
    let url = channel.seal.settings.server.route(
      ["authentication", "user_change", applicationID], query: [BodyDigest.item(for: body)])
    let asked = try channel.seal.request(.post, url, by: signer, preferWait: waitSeconds, body: body)
    let reply = try channel.exchange(asked, deadline: deadline)
    guard channel.seal.check(of: reply, to: asked).strength == .target else { throw .replyTargetNotSigned }
    return (reply, asked)
  }
}
