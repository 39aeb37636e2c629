/// What programs that speak OpenID Connect ask for.
enum OpenIDRoute: Equatable {
  /// What this service can do (OpenID Connect Discovery 1.0 §4).
  case configuration
  /// Ask a user's phone (CIBA Core 1.0 §7).
  case authorize
  /// What became of it (CIBA Core 1.0 §10.1).
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
