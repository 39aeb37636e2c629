import DeviceProtocol
import GRDB
import IAMPASSProtocol

// The user's answer to a request, as the phone sends it.

extension Service {
  /// Takes the user's answer to a request of this phone's, in time, once.
  func takeAnswer(_ call: Call) async throws -> ServiceReply {
    guard call.request.body.count <= KeptAnswer.greatestLength else { return .refused(400, .answerTooLong) }
    let verified: VerifiedStatement
    switch try await deviceCheck.statement(in: call) {
    case .refused(let reply): return reply
    case .verified(let statement): verified = statement
    }
    guard let answer = try? AnswerStatement(verified.statement) else { return .refused(400, .badRequest) }
    let now = clock()
    let check = CredentialCheck(origin: call.address.url.origin)
    let outcome = try await storage.write { db -> Result<Session, DeviceRefusal> in
      // Read again: the phone may have been cut off since its signature was checked.
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return .failure(.cutOff) }
      guard var session = try Session.find(id: answer.session, in: db), session.user == verified.user else {
        return .failure(DeviceRefusal(status: 404, reason: .unknownRequest))
      }
      let credential = try VerifiedCredential.of(phone: verified.phone.id, in: db)
      let signed = SignedAnswer(answer: answer, verified: verified, credential: credential, check: check)
      switch session.take(signed, at: now) {
      case .failure(let refusal): return .failure(refusal)
      case .success(let counter):
        if let counter { try VerifiedCredential.advance(phone: verified.phone.id, to: counter, in: db) }
      }
      try session.update(in: db)
      try signed.kept(with: session).insert(at: now, in: db)
      if session.lifecycle.ending == .notMe {
        try SourceBlock.set(user: verified.user, source: session.source, at: now, in: db)
      }
      return .success(session)
    }
    switch outcome {
    case .failure(let refusal):
      if let detail = refusal.detail {
        logger.info("answer refused", metadata: ["phone": "\(verified.phone.id)", "why": "\(detail.rawValue)"])
      }
      return refusal.reply
    case .success(let session):
      audit.answered(session, by: verified.phone)
      announceChange(of: session)
      // The answer is taken, whether or not this can be stored.
      do { try await heard(verified.phone, call) } catch { tell(storageFailure: error) }
      // The one answer that has an effect and is refused all the same: the phone must not say that it approved.
      return session.lifecycle.ending == .wrongCode ? .refused(403, .wrongCode) : .done
    }
  }
}

/// An answer that the phone's key has signed, with what its authenticator may say to it.
private struct SignedAnswer: Sendable {
  let answer: AnswerStatement
  let verified: VerifiedStatement
  let credential: VerifiedCredential?
  let check: CredentialCheck

  /// Whether it proves what `method` asks for; the authenticator's new count, where it was asked.
  func proves(_ method: AuthenticationMethod) -> Result<UInt32?, DeviceRefusal> {
    // Else whoever has the phone's key alone would say that a tap was asked for.
    guard answer.method == method else { return .failure(DeviceRefusal(status: 403, reason: .wrongMethod)) }
    switch method {
    case .acceptance: return .success(nil)
    case .facial: return .failure(DeviceRefusal(status: 403, reason: .methodNotAvailable))
    case .device:
      guard let assertion = verified.assertion else {
        return .failure(DeviceRefusal(status: 403, reason: .assertionMissing))
      }
      guard let credential else {
        return .failure(DeviceRefusal(status: 403, reason: .assertionRefused, detail: .credentialID))
      }
      return check.assertion(
        assertion, by: credential, challenge: CredentialChallenge.bytes(for: verified.statement)
      ).map { $0 }.mapError { DeviceRefusal(status: 403, reason: .assertionRefused, detail: $0) }
    }
  }

  func kept(with session: Session) -> KeptAnswer {
    func text(_ json: JSON) -> String { String(decoding: json.canonicallyEncoded(), as: UTF8.self) }
    let isProven = answer.answer == .approve && session.method == .device
    return KeptAnswer(
      session: session.id, phone: verified.phone, statement: text(verified.statement), signature: verified.signature,
      context: text(session.context.json),
      assertion: isProven ? verified.assertion.flatMap { proof in credential.map { (proof, $0.publicKey) } } : nil)
  }
}

extension Session {
  /// Takes the answer, or says why not. The authenticator's new count, where it was asked.
  fileprivate mutating func take(_ signed: SignedAnswer, at now: UnixTime) -> Result<UInt32?, DeviceRefusal> {
    let answer = signed.answer
    guard Digest.areEqual(Array(answer.nonce.utf8), Array(answerNonce.utf8)),
      answer.expires == lifecycle.answerDeadline.seconds
    else { return .failure(DeviceRefusal(status: 400, reason: .wrongNonce)) }
    // What the user saw must be what is approved.
    guard answer.contextHash == ShownContext.hash(context) else {
      return .failure(DeviceRefusal(status: 400, reason: .wrongContext))
    }
    if let refusal = DeviceRefusal(lifecycle.prospect(at: now)) { return .failure(refusal) }
    guard answer.answer == .approve else {
      _ = lifecycle.answer(answer.answer, at: now)
      return .success(nil)
    }
    let proof = signed.proves(method)
    guard case .success = proof else { return proof }
    // Nothing typed is no guess.
    if matchCode != nil, answer.code.isEmpty { return .failure(DeviceRefusal(status: 400, reason: .codeMissing)) }
    let isCodeRight = matchCode.map { $0 == Secret(answer.code) } ?? true
    _ = lifecycle.answer(.approve, isCodeRight: isCodeRight, at: now)
    return proof
  }
}

extension DeviceRefusal {
  /// Nil where the answer would be taken.
  fileprivate init?(_ prospect: SessionLifecycle.AnswerOutcome) {
    switch prospect {
    case .taken: return nil
    case .alreadyAnswered: self.init(status: 409, reason: .alreadyAnswered)
    case .tooLate: self.init(status: 410, reason: .tooLate)
    }
  }
}
