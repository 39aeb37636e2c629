import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

/// The addresses that the service listens on, and the address that clients use.
struct ServeAddresses: Sendable {
  let listen: ListenAddress
  let metrics: ListenAddress?
  /// A listener for the console alone; nil: it is where the rest is.
  let console: ListenAddress?
  let publicURL: ServerURL?
  /// As administrators' browsers know ``console``; nil: each request's own authority counts.
  let consoleURL: ServerURL?
  let proxies: [PeerAddress]

  /// - Parameters:
  ///   - console: what `--console-listen` and `--console-url` say.
  init(
    listen: String, metrics: String?, console: (listen: String?, url: String?) = (nil, nil), publicURL: String?,
    proxies: [String]
  ) throws(CommandProblem) {
    self.listen = try ListenAddress(listen)
    self.metrics = try metrics.map { text throws(CommandProblem) in try ListenAddress(text) }
    self.publicURL = try publicURL.map(ServerURL.init(ofOption:))
    self.console = try console.listen.map { text throws(CommandProblem) in try ListenAddress(text) }
    consoleURL = try console.url.map(ServerURL.init(ofConsoleOption:))
    // Otherwise clients would choose the service's name: links lead there, and signatures cover it.
    guard self.publicURL != nil || self.listen.isLoopback else { throw CommandProblem.noPublicURL(listen) }
    if let console = self.console {
      guard consoleURL != nil || console.isLoopback else { throw CommandProblem.noConsoleURL(console.text) }
      // The console makes lines and links for computers and phones, which do not know its address.
      guard self.publicURL != nil else { throw CommandProblem.consoleWithoutPublicURL }
    }
    self.proxies = try proxies.map { text throws(CommandProblem) in
      guard let address = PeerAddress(text) else { throw CommandProblem.badProxy(text) }
      return address
    }
  }
}

extension PushContact {
  /// The value of `--push-contact`; nil without it.
  init?(ofOption text: String?) throws(CommandProblem) {
    guard let text else { return nil }
    guard let contact = PushContact(text) else { throw .badPushContact(text) }
    self = contact
  }
}

extension PushProxy {
  /// The value of `--push-proxy`; nil without it.
  init?(ofOption text: String?) throws(CommandProblem) {
    guard let text else { return nil }
    guard let proxy = PushProxy(text) else { throw .badPushProxy(text) }
    self = proxy
  }
}

extension ServeAddresses {
  /// What the listener of ``listen`` takes.
  var main: Listener { console == nil ? .everything : .allButConsole }
}

extension ServerURL {
  /// What `--console-url` says.
  init(ofConsoleOption text: String) throws(CommandProblem) {
    do { try self.init(text) } catch { throw .badConsoleURL(text) }
  }

  /// What `--public-url` says.
  init(ofOption text: String) throws(CommandProblem) {
    do { try self.init(text) } catch { throw .badPublicURL(text) }
  }
}
