import IAMPASSProtocol

/// The check of an OpenID client's id and secret: `client_secret_basic` or `client_secret_post` (RFC 6749 §2.3.1).
struct OpenIDClientCheck: Sendable {
  /// The client failed too often: see ``ServiceCore/earlyRefusal(_:_:unless:)``.
  struct RefusedEarly: Error { let reply: ServiceReply }

  let core: ServiceCore

  /// The client's id and secret in a request.
  private struct Claim {
    let id: String
    let secret: Secret
  }

  /// The client whose secret this is.
  func client(of call: Call, _ form: OpenIDForm) async throws -> SignInClient {
    let claim = try Self.claim(in: call.request, form)
    let refused = OpenIDError(.invalidClient, "the id or the secret is wrong", .signatureRefused)
    guard RandomValue.isIdentifier(claim.id) else { throw refused }
    let isProven = core.signInClients[claim.id].map { Self.isMade(claim, by: $0) } ?? false
    if let refusal = core.earlyRefusal(.signature(client: claim.id), call, unless: isProven) {
      throw RefusedEarly(reply: refusal)
    }
    let found: SignInClient?
    if isProven {
      // It uses no nonce that it could be read with.
      found = try await core.storage.signInClient(claim.id)
      core.signInClients.keep(found, as: claim.id)
    } else {
      found = try await core.forUnauthenticated(call) { try await core.signInClients.read(claim.id) }
    }
    guard let signInClient = found, let credential = signInClient.credential, credential.isOpenID else { throw refused }
    guard Self.isMade(claim, by: signInClient) else { throw refused }
    // Only the holder of the secret gets this reason.
    guard !credential.isRevoked else { throw OpenIDError(.invalidClient, "the client was revoked", .credentialRevoked) }
    call.request.onProof()
    return signInClient
  }

  private static func isMade(_ claim: Claim, by signInClient: SignInClient) -> Bool {
    signInClient.credential?.isOpenID == true && signInClient.secret == OpenIDSecret.stored(claim.secret)
  }

  /// The id under which failures are counted; nil if the request has none.
  static func claimedID(in request: ServiceRequest) -> String? {
    (try? OpenIDForm(request)).flatMap { try? claim(in: request, $0).id }
  }

  private static func claim(in request: ServiceRequest, _ form: OpenIDForm) throws(OpenIDError) -> Claim {
    let headers = request.values(of: ["Authorization"])
    let (id, secret) = (form.value("client_id"), form.value("client_secret"))
    guard let header = headers.first else {
      guard let id, let secret else {
        throw OpenIDError(.invalidClient, "send client_id and client_secret, or both by HTTP Basic")
      }
      return Claim(id: id, secret: Secret(secret))
    }
    guard headers.count == 1, secret == nil, let claim = basic(header), id == nil || id == claim.id else {
      throw OpenIDError(.invalidRequest, "authenticate once, by HTTP Basic or in the form")
    }
    return claim
  }

  /// Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1).
  private static func basic(_ header: String) -> Claim? {
    let words = header.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "basic", let bytes = Base64.decode(String(words[1])),
      let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":"),
      let decoded = RequestTarget(Substring("/?id=\(text[..<colon])&secret=\(text[text.index(after: colon)...])")),
      let id = decoded.value("id"), let secret = decoded.value("secret")
    else { return nil }
    return Claim(id: id, secret: Secret(secret))
  }
}
