import DeviceProtocol
import IAMPASSProtocol

/// An answer that the phone's key has signed, with the data to check an authenticator's assertion in it.
struct SignedAnswer: Sendable {
  let answer: AnswerStatement
  let verified: VerifiedStatement
  /// The phone's WebAuthn credential; nil if it has none.
  let credential: VerifiedCredential?
  /// Whether an app's word about its user's face counts.
  let vouchesForFace: Bool
  /// Whether a credential counts that may be synced between devices.
  let acceptsSyncedPasskeys: Bool
  let check: CredentialCheck

  /// Checks that the answer proves what `method` requires. Returns the authenticator's state, if it was asked.
  private func proves(_ method: AuthenticationMethod) -> Result<AuthenticatorState?, Refusal> {
    // Otherwise a person who has only the phone's key could claim that only a tap was required.
    guard answer.method == method else { return .failure(Refusal(.wrongMethod)) }
    switch method {
    case .acceptance: return .success(nil)
    case .facial:
      return vouchesForFace ? .success(nil) : .failure(Refusal(.methodNotAvailable))
    case .device:
      guard let assertion = verified.assertion else {
        return .failure(Refusal(.assertionMissing))
      }
      guard let credential else {
        return .failure(Refusal(.assertionRefused, detail: .credentialID))
      }
      return check.assertion(
        assertion, by: credential, challenge: CredentialChallenge.bytes(for: verified.statement)
      ).mapError { Refusal(.assertionRefused, detail: $0) }.flatMap { state in
        // By what the authenticator says now: the stored word may be missing.
        state.isBackupEligible && !acceptsSyncedPasskeys ? .failure(Refusal(.syncedPasskey)) : .success(state)
      }
    }
  }

  /// Applies this answer to the session, or returns why not. Returns the authenticator's state, if it was asked.
  ///
  /// - Parameter method: what an approval of this phone must prove.
  func settle(
    _ session: inout Session, proving method: AuthenticationMethod, at now: UnixTime
  ) -> Result<AuthenticatorState?, Refusal> {
    guard Digest.areEqual(Array(answer.nonce.utf8), Array(session.answerNonce.utf8)),
      answer.expires == session.lifecycle.answerDeadline.seconds
    else { return .failure(Refusal(.wrongNonce)) }
    guard answer.challenge == session.challenge else {
      return .failure(Refusal(.wrongChallenge))
    }
    // The phone must have shown exactly the context that is approved.
    guard answer.contextHash == ShownContext.hash(session.context) else {
      return .failure(Refusal(.wrongContext))
    }
    if let refusal = Refusal(session.lifecycle.prospect(at: now)) { return .failure(refusal) }
    guard answer.answer == .approve else {
      _ = session.lifecycle.answer(answer.answer, at: now)
      return .success(nil)
    }
    let proof = proves(method)
    guard case .success = proof else { return proof }
    // An empty code does not count as a wrong one.
    if session.matchCode != nil, answer.code.isEmpty { return .failure(Refusal(.codeMissing)) }
    let isCodeRight = session.matchCode.map { $0 == Secret(answer.code) } ?? true
    _ = session.lifecycle.answer(.approve, isCodeRight: isCodeRight, at: now)
    return proof
  }

  /// The kept form, so that the answer can be verified again later.
  func kept(with session: Session) -> KeptAnswer {
    func text(_ json: JSON) -> String { String(decoding: json.canonicallyEncoded(), as: UTF8.self) }
    let isProven = answer.answer == .approve && session.method == .device
    return KeptAnswer(
      session: session.id, phone: verified.phone, statement: text(verified.statement), signature: verified.signature,
      context: text(session.context.json),
      assertion: isProven ? verified.assertion.flatMap { proof in credential.map { (proof, $0.publicKey) } } : nil)
  }
}

extension Refusal {
  /// Nil if the answer would be accepted.
  fileprivate init?(_ prospect: SessionLifecycle.AnswerOutcome) {
    switch prospect {
    case .taken: return nil
    case .alreadyAnswered: self.init(Reason.alreadyAnswered)
    case .tooLate: self.init(Reason.tooLate)
    }
  }
}
