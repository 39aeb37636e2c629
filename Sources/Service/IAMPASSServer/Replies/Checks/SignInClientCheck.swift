import IAMPASSProtocol

/// The check of what an application or one of its hosts signed. Memory says whether that is worth a visit to the storage.
/// The visit that uses the nonce also reads the row, which alone decides: what was revoked or renewed at another server
/// a moment ago counts.
struct SignInClientCheck: Sendable {
  enum Outcome: Sendable {
    case verified(SignInClient, VerifiedClient)
    case refused(ServiceReply)
  }

  let core: ServiceCore
  let check: SignatureCheck

  /// Whose signature is on the request. Its nonce is used, also for a service that is killed, when this says whose it is.
  ///
  /// - Parameter claim: what ``SignatureCheck/claim(in:)`` found in the request.
  func verify(_ claim: SignatureCheck.Claim, in call: Call) async throws -> Outcome {
    let id = claim.clientID
    let known = core.signInClients[id].flatMap { $0.signs ? $0 : nil }
    let early = core.earlyRefusal(
      .signature(client: id), call,
      unless: known.map { check.isMade(claim, by: $0, uris: call.signedURIs) } ?? false)
    if let early { return .refused(early) }
    if let proof = known.flatMap({ try? check.proof(of: claim, by: $0, uris: call.signedURIs).get() }) {
      return try await verify(claim, proof, in: call)
    }
    let found = try await core.forUnauthenticated(call) { try await core.signInClients.read(id) }
    guard let signInClient = found, signInClient.signs else { return .refused(.refused(.unknownApplication)) }
    switch check.proof(of: claim, by: signInClient, uris: call.signedURIs) {
    case .failure(let refusal): return .refused(refusal.reply)
    case .success(let proof): return try await verify(claim, proof, in: call)
    }
  }

  /// - Parameter shown: what the request proves by the row as it was read before.
  private func verify(
    _ claim: SignatureCheck.Claim, _ shown: SignatureCheck.Proof, in call: Call
  ) async throws -> Outcome {
    let id = claim.clientID
    let (isNew, found) = try await core.storage.useNonce(shown.nonce, reading: id, at: core.clock())
    guard isNew else { return .refused(.refused(.nonceReplayed)) }
    core.signInClients.keep(found, as: id)
    guard let signInClient = found, signInClient.signs else { return .refused(.refused(.unknownApplication)) }
    switch check.proof(of: claim, by: signInClient, uris: call.signedURIs) {
    case .failure(let refusal): return .refused(refusal.reply)
    case .success(let proof):
      // An application's nonces are not its host's.
      guard proof.nonce.owner == shown.nonce.owner else { return .refused(.refused(.signatureRefused)) }
      return .verified(signInClient, try await check.verified(claim, by: signInClient, proof, of: call.request))
    }
  }
}

extension ServiceCore {
  /// Why a client is not told what its request was held for; nil if it may be told. Its signature was checked when the
  /// request came: since then its credential may have been revoked, or its secret replaced.
  ///
  /// - Parameter signInClient: as it was then.
  func refusal(ofHeld signInClient: SignInClient) async throws -> ServiceReply? {
    // A change wakes all at once: they share a read.
    guard let current = try await signInClients.read(signInClient.id), current.signs else {
      return .refused(.unknownApplication)
    }
    guard current.credential?.isRevoked != true else { return .refused(.credentialRevoked) }
    return current.secret == signInClient.secret ? nil : .refused(.signatureRefused)
  }
}
