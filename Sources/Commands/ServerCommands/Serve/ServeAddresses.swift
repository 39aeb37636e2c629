import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

/// The addresses that the service listens on, and the address that clients use.
struct ServeAddresses: Sendable {
  let listen: ListenAddress
  let metrics: ListenAddress?
  let publicURL: ServerURL?
  let proxies: [PeerAddress]

  init(listen: String, metrics: String?, publicURL: String?, proxies: [String]) throws(CommandProblem) {
    self.listen = try ListenAddress(listen)
    self.metrics = try metrics.map { text throws(CommandProblem) in try ListenAddress(text) }
    self.publicURL = try publicURL.map(ServerURL.init(ofOption:))
    // Otherwise clients would choose the service's name: links lead there, and signatures cover it.
    guard self.publicURL != nil || self.listen.isLoopback else { throw CommandProblem.noPublicURL(listen) }
    self.proxies = try proxies.map { text throws(CommandProblem) in
      guard let address = PeerAddress(text) else { throw CommandProblem.badProxy(text) }
      return address
    }
  }
}

extension PushContact {
  /// What `--push-contact` says; nil without it.
  init?(ofOption text: String?) throws(CommandProblem) {
    guard let text else { return nil }
    guard let contact = PushContact(text) else { throw .badPushContact(text) }
    self = contact
  }
}

extension PushProxy {
  /// What `--push-proxy` says; nil without it.
  init?(ofOption text: String?) throws(CommandProblem) {
    guard let text else { return nil }
    guard let proxy = PushProxy(text) else { throw .badPushProxy(text) }
    self = proxy
  }
}

extension ServerURL {
  /// What `--public-url` says.
  init(ofOption text: String) throws(CommandProblem) {
    do { try self.init(text) } catch { throw .badPublicURL(text) }
  }
}
