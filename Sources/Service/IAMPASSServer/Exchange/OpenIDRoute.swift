/// The routes of programs that use OpenID Connect.
enum OpenIDRoute: Equatable {
  /// The service's configuration (OpenID Connect Discovery 1.0 §4).
  case configuration
  /// A request to a user's phone (CIBA Core 1.0 §7).
  case authorize
  /// The request's result (CIBA Core 1.0 §10.1).
  case token

  var method: String { self == .configuration ? "GET" : "POST" }

  init?(path: [String]) {
    switch path {
    case [".well-known", "openid-configuration"]: self = .configuration
    case ["bc-authorize"]: self = .authorize
    case ["token"]: self = .token
    default: return nil
    }
  }
}
