import IAMPASSProtocol

/// A refusal in the form of OAuth: RFC 6749 §5.2, CIBA Core 1.0 §11 and §13.
struct OpenIDError: Error, Sendable {
  enum Code: String, Sendable, CaseIterable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidScope = "invalid_scope"
    case invalidBindingMessage = "invalid_binding_message"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case unknownUser = "unknown_user_id"
    case accessDenied = "access_denied"
    case pending = "authorization_pending"
    case slowDown = "slow_down"
    case expired = "expired_token"
  }

  let code: Code
  /// The description for the client's developer.
  let description: String
  /// The same refusal as a ``Reason``, for limits; nil if there is none.
  let reason: Reason?

  init(_ code: Code, _ description: String, _ reason: Reason? = nil) {
    self.code = code
    self.description = description
    self.reason = reason
  }

  /// - Parameter route: `/token` gives 400 in cases for which `/bc-authorize` gives 403.
  func reply(at route: OpenIDRoute) -> ServiceReply {
    let body: JSON = .object(["error": .string(code.rawValue), "error_description": .string(description)])
    guard code == .invalidClient else {
      return ServiceReply(code == .accessDenied && route == .authorize ? 403 : 400, body.encoded(), reason: reason)
    }
    return ServiceReply(401, body.encoded(), reason: reason).adding("WWW-Authenticate", "Basic realm=\"iampass\"")
  }
}
