import IAMPASSProtocol

/// Who signed a request, proven.
struct VerifiedClient: Sendable {
  /// Of the application, also where a session signed: replies are signed with its secret.
  let application: Application
  /// Where a session signed.
  let session: Session?
  let nonce: String
}

/// The check of a request's signature, time stamp and nonce.
struct SignatureCheck: Sendable {
  /// How far a client's clock may be off, in seconds.
  static let clockWindow: Int64 = 300
  /// Nonces outlive the window by as much again: the service's own clock may be set back.
  static let nonceLifetime: Int64 = 2 * clockWindow

  enum Outcome: Sendable {
    case verified(VerifiedClient)
    case refused(Reason)
  }

  let storage: Storage
  let clock: @Sendable () -> UnixTime

  /// Whether `application`'s own signature is on the request. Its nonce is spent, on disk, when this says yes.
  func application(_ application: Application, signed request: ServiceRequest, uris: [String]) async throws -> Outcome {
    switch claim(in: request) {
    case .failure(let refusal): return .refused(refusal.reason)
    case .success(let claim):
      guard claim.authentication.clientID == application.id else { return .refused(.signatureRefused) }
      return try await verify(claim, VerifiedParty(application: application, session: nil), uris: uris)
    }
  }

  /// Whether `session`'s token and secret signed the request.
  func session(
    _ session: Session, of application: Application, signed request: ServiceRequest, uris: [String]
  ) async throws -> Outcome {
    switch claim(in: request) {
    case .failure(let refusal): return .refused(refusal.reason)
    case .success(let claim):
      guard Secret(claim.authentication.clientID) == session.token else { return .refused(.signatureRefused) }
      return try await verify(claim, VerifiedParty(application: application, session: session), uris: uris)
    }
  }

  /// What a request says of itself.
  private struct Claim {
    let authentication: UnverifiedAuthentication
    let timestamp: String
    let signedAt: Int64
  }

  private struct Refusal: Error { let reason: Reason }

  private struct VerifiedParty: Sendable {
    let application: Application
    let session: Session?
    var clientID: String { session?.token.exposedValue ?? application.id }
    var secret: Secret { session?.secret ?? application.secret }
    /// Under which its spent nonces stand; the token itself is a secret.
    var nonceOwner: String { session.map { "session:" + $0.id } ?? "application:" + application.id }
  }

  private func claim(in request: ServiceRequest) -> Result<Claim, Refusal> {
    let headers = request.values(of: [Dialect.authenticationHeader])
    guard headers.count == 1, let authentication = UnverifiedAuthentication(header: headers[0]) else {
      return .failure(Refusal(reason: .authenticationMissing))
    }
    // Clients send both spellings of their dialect; which one counts must not be a question.
    let timestamps = Set(request.values(of: Dialect.allCases.flatMap(\.timestampHeaders)))
    guard timestamps.count == 1, let timestamp = timestamps.first, let seconds = Int64(timestamp) else {
      return .failure(Refusal(reason: .timestampMissing))
    }
    let now = clock().seconds
    guard (now - Self.clockWindow...now + Self.clockWindow).contains(seconds) else {
      return .failure(Refusal(reason: .timestampOutsideWindow))
    }
    return .success(Claim(authentication: authentication, timestamp: timestamp, signedAt: seconds))
  }

  private func verify(_ claim: Claim, _ party: VerifiedParty, uris: [String]) async throws -> Outcome {
    let isMade = SigningScheme.allCases.contains { scheme in
      guard let signer = try? RequestSigner(clientID: party.clientID, secret: party.secret, scheme: scheme) else {
        return false
      }
      return uris.contains { claim.authentication.isMade(by: signer, timestamp: claim.timestamp, uri: $0) }
    }
    guard isMade else { return .refused(.signatureRefused) }
    // By value: "7" and "007" are one nonce to the documented scheme.
    guard let value = RequestSigner.nonceValue(claim.authentication.nonce) else { return .refused(.signatureRefused) }
    let forgetAt = UnixTime(seconds: claim.signedAt + Self.nonceLifetime)
    let isNew = try await storage.write { db in
      try SpentNonces.spend(String(value), client: party.nonceOwner, forgetAt: forgetAt, in: db)
    }
    guard isNew else { return .refused(.nonceReplayed) }
    return .verified(
      VerifiedClient(application: party.application, session: party.session, nonce: claim.authentication.nonce))
  }
}
