import IAMPASSProtocol

/// The source of a request, by which limits distinguish requests.
struct RequestSource: Sendable, Equatable {
  /// Host, service and remote host, and the computer's user who asks for another user, if there is one. A user who
  /// denies that caller still gets their own requests. The values are JSON strings, so that the text is unambiguous.
  let text: String
  /// The host credential that asks; nil for the application itself.
  let credential: String?
  /// Whether it came over the network, as the computer says. Clients without a context count as asking at the computer.
  let isRemote: Bool
}

extension RequestSource {
  init(of context: SignInContext, from client: ClientAddress, credential: String?) {
    var parts = [context.host ?? client.text, context.service, context.remoteHost].map { $0.map(JSON.string) ?? .null }
    if let asker = context.askedBy { parts.append(.string(asker)) }
    text = String(decoding: JSON.array(parts).encoded(), as: UTF8.self)
    self.credential = credential
    isRemote = context.isRemote
  }
}

extension SignInContext {
  var isRemote: Bool { remoteHost?.isEmpty == false }

  /// Whether a user of the computer asks for themselves, and the phone shows the user and the program. Other requests
  /// need digits, because strangers could begin them.
  var isOfUserAtComputer: Bool {
    !isRemote && askedBy == nil && [host, service, user].allSatisfy { $0?.isEmpty == false }
  }
}
