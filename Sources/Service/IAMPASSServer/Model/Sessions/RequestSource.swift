import IAMPASSProtocol

/// The source of a request, by which limits distinguish requests.
struct RequestSource: Sendable, Equatable {
  /// Host, service and remote host, and the user of the computer who asks for another, if it names one: whoever denies
  /// that user is still asked for their own requests. Unambiguous: the values are JSON strings.
  let text: String
  /// The host credential that asks; nil: the application itself does.
  let credential: String?
  /// It came over the network, by what the computer says. Clients that send no context ask at the computer.
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

  /// Whether a user of the computer asks for themselves, and the phone shows who and by what. Nobody else's request goes
  /// without digits: strangers could begin it.
  var isOfUserAtComputer: Bool {
    !isRemote && askedBy == nil && [host, service, user].allSatisfy { $0?.isEmpty == false }
  }
}
