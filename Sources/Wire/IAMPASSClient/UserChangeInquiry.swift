import HostSystem
import IAMPASSProtocol
import WorkerLink

/// Where a change of the service's list of users stands.
public enum UserChangeAnswer: Sendable, Equatable {
  /// - Parameter code: two digits that the administrators' phones ask for; nil: they ask for none, or it was told before.
  case waiting(asks: [String], code: String?)
  /// - Parameters:
  ///   - administrator: who approved it.
  ///   - link: by which the user's phone registers.
  case done(administrator: String, link: String?)
}

extension AuthenticationClient {
  /// Asks for a change of the list of users, or what became of it. Only a host credential may ask.
  ///
  /// - Parameter waitSeconds: how long the service may hold its reply; nil to be told at once.
  /// - Throws: ``MessageError/refused(reason:)`` in ``ServiceError/badReply(_:)`` for a change that is not made, and
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

  /// Gives the change up: the phones are not asked any more.
  ///
  /// - Throws: ``MessageError/refused(reason:)`` if the change was approved before, and may have been made.
  public func withdraw(_ change: UserChangeRequest, deadline: MonotonicInstant) throws(ServiceError) {
    try acknowledged(exchange(change, nil, deadline).reply)
  }

  /// The reply's signature must cover what was asked: a reply to another change must not look like this one's.
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
