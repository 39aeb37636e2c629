import IAMPASSProtocol

/// The document that clients read first: OpenID Connect Discovery 1.0 §3 with CIBA Core 1.0 §4.
enum OpenIDConfiguration {
  static let grant = "urn:openid:params:grant-type:ciba"

  static func reply(at url: ServerURL) -> ServiceReply {
    func texts(_ values: String...) -> JSON { .array(values.map(JSON.string)) }
    let members: JSON = .object([
      "issuer": .string(url.issuer),
      "backchannel_authentication_endpoint": .string(url.route(["bc-authorize"])),
      "token_endpoint": .string(url.route(["token"])),
      "jwks_uri": .string(url.route([".well-known", "jwks.json"])),
      "grant_types_supported": texts(grant),
      "backchannel_token_delivery_modes_supported": texts("poll"),
      "backchannel_user_code_parameter_supported": .bool(false),
      "token_endpoint_auth_methods_supported": texts("client_secret_basic", "client_secret_post"),
      "id_token_signing_alg_values_supported": texts("ES256"),
      "subject_types_supported": texts("public"),
      "scopes_supported": texts("openid"),
      "claims_supported": texts("iss", "sub", "aud", "azp", "iat", "exp", "amr", "approval_data"),
      // Browsers are never redirected here.
      "response_types_supported": .array([]),
      "request_parameter_supported": .bool(false),
      "request_uri_parameter_supported": .bool(false),
      "claims_parameter_supported": .bool(false),
    ])
    return ServiceReply(200, members.encoded())
  }
}
