import DeviceProtocol
import GRDB
import IAMPASSProtocol

/// Takes the user's answer to a request, as the phone sends it.
struct AnswerReplies: Sendable {
  let core: ServiceCore

  /// Takes the user's answer to a request of this phone's, in time, once.
  func take(_ call: Call) async throws -> ServiceReply {
    guard call.request.body.count <= KeptAnswer.greatestLength else { return .refused(400, .answerTooLong) }
    let verified: VerifiedStatement
    switch try await DeviceCheck(storage: core.storage).statement(in: call) {
    case .refused(let reply): return reply
    case .verified(let statement): verified = statement
    }
    guard let answer = try? AnswerStatement(verified.statement) else { return .refused(400, .badRequest) }
    let check = CredentialCheck(origin: call.address.url.origin)
    let now = core.clock()
    let outcome = try await core.storage.write { try Self.store(answer, of: verified, check, at: now, in: $0) }
    switch outcome {
    case .failure(let refusal): return reply(to: refusal, of: verified.phone)
    case .success(let session): return await announce(session, answeredBy: verified.phone, call)
    }
  }

  /// The session with its answer; one transaction.
  private static func store(
    _ answer: AnswerStatement, of verified: VerifiedStatement, _ check: CredentialCheck, at now: UnixTime,
    in db: Database
  ) throws -> Result<Session, Refusal> {
    guard try verified.isLive(in: db) else { return .failure(.cutOff) }
    guard var session = try Session.find(id: answer.session, in: db), session.user == verified.user else {
      return .failure(Refusal(status: 404, reason: .unknownRequest))
    }
    let credential = try VerifiedCredential.of(phone: verified.phone.id, in: db)
    let signed = SignedAnswer(answer: answer, verified: verified, credential: credential, check: check)
    switch signed.settle(&session, at: now) {
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

  private func announce(_ session: Session, answeredBy phone: Phone, _ call: Call) async -> ServiceReply {
    core.audit.answered(session, by: phone)
    core.announceChange(of: session)
    // The answer is taken, whether or not this can be stored.
    do { try await core.heard(phone, call) } catch { core.tell(storageFailure: error) }
    // The only answer that has an effect and is refused all the same: the phone must not say that it approved.
    return session.lifecycle.ending == .wrongCode ? .refused(403, .wrongCode) : .done
  }

  private func reply(to refusal: Refusal, of phone: Phone) -> ServiceReply {
    if let detail = refusal.detail {
      core.logger.info("answer refused", metadata: ["phone": "\(phone.id)", "why": "\(detail.rawValue)"])
    }
    return refusal.reply
  }
}
