import IAMPASSProtocol

/// The client that signed a request, proven.
struct VerifiedClient: Sendable {
  /// The secret of the application or host credential, even if a session signed: replies are signed with it.
  let replySecret: Secret
  let nonce: String
  let method: String
  /// The part of the request's address that the signature covers, as the client spells it.
  let address: String
  /// The request's time stamp: Unix time in seconds, by the client's clock.
  let signedAt: Int64
}

/// The check of a request's signature, time stamp and nonce. Form and time are checked first, so that such refusals do
/// not use the storage.
struct SignatureCheck: Sendable {
  private static let timestampHeaders = Dialect.allCases.flatMap(\.timestampHeaders)

  enum Outcome: Sendable {
    case verified(VerifiedClient)
    case refused(Reason)
  }

  let storage: any ServiceStorage
  /// The sender of the request.
  let client: ClientAddress

  /// Whether the session with these keys signed the request; with the session as it stands once the nonce is used.
  ///
  /// - Parameter claim: what ``claim(in:)`` found in the request.
  func session(
    _ keys: SessionKeys, signed request: ServiceRequest, _ claim: Claim, uris: [String]
  ) async throws -> (outcome: Outcome, moment: SessionMoment?) {
    guard Secret(claim.clientID) == keys.token else { return (.refused(.signatureRefused), nil) }
    switch proof(of: claim, .session(keys), uris: uris) {
    case .failure(let refusal): return (.refused(refusal.reason), nil)
    case .success(let proof):
      guard let moment = try await storage.useNonce(proof.nonce, telling: keys.id, at: storage.now()) else {
        return (.refused(.nonceReplayed), nil)
      }
      return (.verified(try await verified(claim, .session(keys), proof, of: request)), moment)
    }
  }

  /// What the request proves if `signInClient` is as given here; whether its nonce was used before is not asked.
  func proof(of claim: Claim, by signInClient: SignInClient, uris: [String]) -> Result<Proof, Refusal> {
    guard claim.clientID == signInClient.id else { return .failure(Refusal(.signatureRefused)) }
    return proof(of: claim, .signInClient(signInClient), uris: uris)
  }

  /// The client that made the signature.
  ///
  /// - Parameter proof: its nonce is used.
  func verified(
    _ claim: Claim, by signInClient: SignInClient, _ proof: Proof, of request: ServiceRequest
  ) async throws -> VerifiedClient {
    try await verified(claim, .signInClient(signInClient), proof, of: request)
  }

  /// Whether `signInClient` made the signature; whether its credential was revoked is not asked.
  func isMade(_ claim: Claim, by signInClient: SignInClient, uris: [String]) -> Bool {
    claim.clientID == signInClient.id && address(signedBy: .signInClient(signInClient), claim, uris: uris) != nil
  }

  /// Whether the session with these keys made the signature.
  func isMade(_ claim: Claim, by keys: SessionKeys, uris: [String]) -> Bool {
    Secret(claim.clientID) == keys.token && address(signedBy: .session(keys), claim, uris: uris) != nil
  }

  /// The claim in a request. Its form and time are valid, but nothing in it is verified.
  struct Claim: Sendable {
    fileprivate let authentication: UnverifiedAuthentication
    fileprivate let timestamp: String
    fileprivate let signedAt: Int64

    /// The client id that it claims.
    var clientID: String { authentication.clientID }
  }

  /// What a right signature says.
  struct Proof: Sendable {
    /// What of the request's address it is over.
    fileprivate let address: String
    let nonce: SignedNonce
  }

  /// The client whose signature it must be.
  private enum Party: Sendable {
    case signInClient(SignInClient)
    case session(SessionKeys)

    /// One signer for each scheme that the party's secret fits.
    var signers: [RequestSigner] {
      switch self {
      case .signInClient(let signInClient):
        RequestSigner.all(client: Secret(signInClient.id), secret: signInClient.secret)
      case .session(let keys): keys.signers
      }
    }

    var replySecret: Secret {
      switch self {
      case .signInClient(let signInClient): signInClient.secret
      case .session(let keys): keys.replySecret
      }
    }

    /// Under which its used nonces stand; a session's token itself is a secret.
    var nonceOwner: String {
      switch self {
      case .signInClient(let signInClient):
        (signInClient.credential == nil ? "application:" : "host:") + signInClient.id
      case .session(let keys): "session:" + keys.id
      }
    }

    var hostCredential: KnownCredential? {
      if case .signInClient(let signInClient) = self { signInClient.credential } else { nil }
    }
  }

  /// Reads the request's claim, without the storage.
  func claim(in request: ServiceRequest) -> Result<Claim, Refusal> {
    let headers = request.values(of: [Dialect.authenticationHeader])
    guard headers.count == 1, let authentication = UnverifiedAuthentication(header: headers[0]) else {
      return .failure(Refusal(.authenticationMissing))
    }
    // Clients send both spellings of their dialect, which must have the same value.
    let timestamps = Set(request.values(of: Self.timestampHeaders))
    guard timestamps.count == 1, let timestamp = timestamps.first, let seconds = Self.seconds(timestamp) else {
      return .failure(Refusal(.timestampMissing))
    }
    // The stamp is by the client's own clock, so it is compared with the wall clock.
    let now = storage.clock.wall().seconds
    guard (now - RequestSigner.clockWindow...now + RequestSigner.clockWindow).contains(seconds) else {
      return .failure(Refusal(.timestampOutsideWindow))
    }
    return .success(Claim(authentication: authentication, timestamp: timestamp, signedAt: seconds))
  }

  /// Unix time in its only accepted spelling; nil for others. In the signed text the stamp follows the address without
  /// a separator. With `0…` or `+…` the address's last characters could pass for the stamp's first.
  private static func seconds(_ text: String) -> Int64? {
    Int64(text).flatMap { $0 > 0 && String($0) == text ? $0 : nil }
  }

  /// The address that the signature covers if it is `party`'s; nil if it is not.
  private func address(signedBy party: Party, _ claim: Claim, uris: [String]) -> String? {
    for signer in party.signers {
      let signed = uris.first { claim.authentication.isMade(by: signer, timestamp: claim.timestamp, uri: $0) }
      if let signed { return signer.covered(signed) }
    }
    return nil
  }

  private func proof(of claim: Claim, _ party: Party, uris: [String]) -> Result<Proof, Refusal> {
    guard let address = address(signedBy: party, claim, uris: uris) else {
      return .failure(Refusal(.signatureRefused))
    }
    // Only the holder of the secret gets this reason.
    guard party.hostCredential?.isRevoked != true else { return .failure(Refusal(.credentialRevoked)) }
    // By value: "7" and "007" are one nonce to the documented scheme.
    guard let value = RequestSigner.nonceValue(claim.authentication.nonce) else {
      return .failure(Refusal(.signatureRefused))
    }
    let forgetAt = UnixTime(seconds: claim.signedAt + SignedNonce.lifetime)
    let nonce = SignedNonce(
      owner: party.nonceOwner, value: String(value), forgetAt: forgetAt, credential: party.hostCredential?.id)
    return .success(Proof(address: address, nonce: nonce))
  }

  /// - Parameter proof: its nonce is used.
  private func verified(
    _ claim: Claim, _ party: Party, _ proof: Proof, of request: ServiceRequest
  ) async throws -> VerifiedClient {
    if storage.clock.confirm(by: claim.signedAt, isOwn: client.isThisMachine) { try await storage.keepTime() }
    request.onProof()
    return VerifiedClient(
      replySecret: party.replySecret, nonce: claim.authentication.nonce, method: request.method,
      address: proof.address, signedAt: claim.signedAt)
  }
}
