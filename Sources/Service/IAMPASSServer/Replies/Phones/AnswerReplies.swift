import DeviceProtocol
import IAMPASSProtocol

/// Takes the user's answer to a request from the phone.
struct AnswerReplies: Sendable {
  let core: ServiceCore
  let sessions: SessionReplies

  /// Takes the user's answer to a request of this phone, in time and once.
  func take(_ call: Call) async throws -> ServiceReply {
    guard call.request.body.count <= KeptAnswer.greatestLength else { return .refused(.answerTooLong) }
    let device = DeviceCheck(core: core)
    let claim: DeviceCheck.Claim
    switch device.claim(in: call) {
    case .failure(let refusal): return refusal.reply
    case .success(let found): claim = found
    }
    guard let answer = try? AnswerStatement(claim.statement) else { return .refused(.badRequest) }
    switch try await device.verify(claim, in: call) {
    case .refused(let reply): return reply
    case .verified(let verified):
      return try await AuditActor.$current.withValue(.phone(verified.phone.id)) {
        try await take(answer, verified, call)
      }
    }
  }

  private func take(_ answer: AnswerStatement, _ verified: VerifiedStatement, _ call: Call) async throws -> ServiceReply
  {
    let check = CredentialCheck(origin: call.address.url.origin)
    let now = core.clock()
    let outcome = try await core.storage.answer(answer.session, by: verified.acting, at: now) { phone, session in
      Self.decide(answer, of: verified, check, phone, session, at: now)
    }
    switch outcome {
    case .failure(let refusal): return reply(to: refusal, of: verified.phone)
    case .success(let session): return await announce(session, answeredBy: verified.phone, call)
    }
  }

  /// - Parameters:
  ///   - phone: the phone as it is stored now.
  ///   - stored: the session in the answer, which is this user's.
  private static func decide(
    _ answer: AnswerStatement, of verified: VerifiedStatement, _ check: CredentialCheck, _ phone: PhoneFacts,
    _ stored: Session?, at now: UnixTime
  ) -> Result<TakenAnswer, Refusal> {
    guard phone.isLive else { return .failure(.cutOff) }
    guard var session = stored, let method = session.method(for: verified.phone.id) else {
      return .failure(Refusal(.unknownRequest))
    }
    let signed = SignedAnswer(
      answer: answer, verified: verified, credential: phone.credential,
      vouchesForFace: phone.vouchesForFace, acceptsSyncedPasskeys: phone.acceptsSyncedPasskeys, check: check)
    return signed.settle(&session, proving: method, at: now).map { authenticator in
      (session.method, session.answeredBy) = (method, verified.phone.id)
      return TakenAnswer(session: session, authenticator: authenticator, kept: signed.kept(with: session))
    }
  }

  private func announce(_ session: Session, answeredBy phone: Phone, _ call: Call) async -> ServiceReply {
    core.audit.answered(session, by: phone)
    core.announceChange(of: session)
    // The answer counts, even if this cannot be stored.
    do {
      try await core.markSeen(phone, call)
      if session.document != nil {
        let documents = DocumentRequests(core: core, sessions: sessions, contact: call.address.url.origin)
        try await documents.attend(toSession: session.id)
      }
    } catch { core.tell(storageFailure: error) }
    // This answer has an effect, but is refused, so that the phone does not show an approval.
    return session.lifecycle.ending == .wrongCode ? .refused(.wrongCode) : .done
  }

  private func reply(to refusal: Refusal, of phone: Phone) -> ServiceReply {
    if let detail = refusal.detail {
      core.logger.info("answer refused", metadata: ["phone": "\(phone.id)", "why": "\(detail.rawValue)"])
    }
    return refusal.reply
  }
}
