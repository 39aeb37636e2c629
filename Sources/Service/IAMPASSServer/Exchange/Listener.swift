import IAMPASSProtocol

/// Which requests one of the service's listeners takes. What it does not take is not found there.
public enum Listener: Sendable {
  /// All of them: there is one listener.
  case everything
  /// Those of computers, phones and applications: another listener has the console.
  case allButConsole
  /// Those of the console.
  ///
  /// - Parameter url: as administrators' browsers know it; nil: each request's own authority counts.
  case console(url: ServerURL?)

  var isForConsole: Bool { if case .console = self { true } else { false } }

  func takes(_ route: Route) -> Bool {
    switch self {
    case .everything: true
    case .allButConsole: !route.isConsole
    case .console: route.isConsole || route == .root
    }
  }
}
