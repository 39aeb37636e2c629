import DeviceProtocol
import GRDB
import IAMPASSProtocol

// The user's answer to a request, as the phone sends it.

extension Service {
  /// Takes the user's answer to a request of this phone's, in time, once.
  func takeAnswer(_ call: Call) async throws -> ServiceReply {
    let verified: VerifiedStatement
    switch try await deviceCheck.statement(in: call) {
    case .refused(let reply): return reply
    case .verified(let statement): verified = statement
    }
    guard let answer = try? AnswerStatement(verified.statement) else { return .refused(400, .badRequest) }
    let now = clock()
    let outcome = try await storage.write { db -> Result<Session, DeviceRefusal> in
      // Read again: the phone may have been cut off since its signature was checked.
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else {
        return .failure(.cutOff)
      }
      guard var session = try Session.find(id: answer.session, in: db), session.user == verified.user else {
        return .failure(DeviceRefusal(status: 404, reason: .unknownRequest))
      }
      if let refusal = session.take(answer, at: now) { return .failure(refusal) }
      try session.update(in: db)
      if session.lifecycle.ending == .notMe {
        try SourceBlock.set(user: verified.user, source: session.source, at: now, in: db)
      }
      return .success(session)
    }
    switch outcome {
    case .failure(let refusal): return refusal.reply
    case .success(let session):
      audit.answered(session, by: verified.phone)
      announceChange(of: session)
      // The one answer that has an effect and is refused all the same: the phone must not say that it approved.
      return session.lifecycle.ending == .wrongCode ? .refused(403, .wrongCode) : .done
    }
  }
}

extension Session {
  /// Takes the answer, or says why not.
  fileprivate mutating func take(_ answer: AnswerStatement, at now: UnixTime) -> DeviceRefusal? {
    guard Digest.areEqual(Array(answer.nonce.utf8), Array(answerNonce.utf8)),
      answer.expires == lifecycle.answerDeadline.seconds
    else { return DeviceRefusal(status: 400, reason: .wrongNonce) }
    // What the user saw must be what is approved.
    guard answer.contextHash == ShownContext.hash(context) else {
      return DeviceRefusal(status: 400, reason: .wrongContext)
    }
    // Nothing typed is no guess.
    if answer.answer == .approve, matchCode != nil, answer.code.isEmpty {
      return DeviceRefusal(status: 400, reason: .codeMissing)
    }
    let isCodeRight = matchCode.map { $0 == Secret(answer.code) } ?? true
    switch lifecycle.answer(answer.answer, isCodeRight: isCodeRight, at: now) {
    case .taken: return nil
    case .alreadyAnswered: return DeviceRefusal(status: 409, reason: .alreadyAnswered)
    case .tooLate: return DeviceRefusal(status: 410, reason: .tooLate)
    }
  }
}
