import CPAM
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The module argument `debug`: one log line for each decision of a sign-in, numbered as in the module's documentation.
///
/// A line says what was decided and why. It has no token, code, secret, address or answer that a user typed.
struct StepTrace {
  let log: (String) -> Void

  init(log: @escaping (String) -> Void) { self.log = log }

  init(host: PAMHost) {
    self.init { host.log(LOG_DEBUG, $0) }
  }

  func note(_ step: Int, _ text: String) { log("step \(step): \(text)") }

  /// Runs `act`, and logs why it failed. The error is thrown again.
  func failing<Value, Failure: Error>(
    _ step: Int, _ act: () throws(Failure) -> Value, because explanation: (Failure) -> String
  ) throws(Failure) -> Value {
    do { return try act() } catch {
      note(step, explanation(error))
      throw error
    }
  }
}

/// Logs each answer of ②.
struct TracedTokenLookup: TokenLookup {
  let base: any TokenLookup
  let trace: StepTrace

  func token(of user: UnixUsername) throws(Refusal) -> Secret? {
    let found = try trace.failing(2) { () throws(Refusal) in
      try base.token(of: user)
    } because: {
      "the token cannot be looked up: \($0.explanation)"
    }
    trace.note(2, found == nil ? "the user has no token" : "the user has a token")
    return found
  }
}

/// Logs the answers about the phones that this computer trusts.
struct TracedTrust: ApprovalTrust {
  let base: any ApprovalTrust
  let trace: StepTrace

  func demand(of user: UnixUsername, asked: [AuthenticationMethod]) throws(PhoneTrustError) -> ApprovalDemand {
    let demand = try trace.failing(2) { () throws(PhoneTrustError) in
      try base.demand(of: user, asked: asked)
    } because: {
      "no approval of the user could be verified: \(Refusal($0).explanation)"
    }
    trace.note(2, "an approval is verified by \(demand.methods.map(\.rawValue).joined(separator: " or "))")
    return demand
  }

  func stillTakes(
    _ approval: VerifiedApproval, of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> Bool {
    let isTrusted = try trace.failing(5) { () throws(PhoneTrustError) in
      try base.stillTakes(approval, of: user, asked: asked)
    } because: {
      "the phone cannot be looked up again: \(Refusal($0).explanation)"
    }
    trace.note(5, isTrusted ? "the phone is still trusted" : "the phone is trusted no more")
    return isTrusted
  }
}

/// Logs the limit on requests, which comes before ③.
struct TracedRequestLimit: RequestLimit {
  let base: any RequestLimit
  let trace: StepTrace

  func admit() throws(AttemptRefusal) {
    try trace.failing(3) { () throws(AttemptRefusal) in
      try base.admit()
    } because: {
      switch $0 {
      case .tooMany: "too many requests went unanswered: none is sent"
      case .broken(let file): "requests cannot be counted, so none is sent: \(file.explanation)"
      }
    }
    trace.note(3, "the request is within its limits")
  }

  func forgive() throws(AttemptRefusal) { try base.forgive() }
}

/// Logs each reply of ③ ④ ⑤. A repeated status or failure is logged once.
final class TracedService: AuthenticationService {
  private let base: any AuthenticationService
  private let trace: StepTrace
  /// The last logged line about the status.
  private var noted: String?

  init(base: any AuthenticationService, trace: StepTrace) {
    self.base = base
    self.trace = trace
  }

  func prepare() { base.prepare() }

  func reach(deadline: MonotonicInstant) throws(ServiceError) {
    try trace.failing(3) { () throws(ServiceError) in
      try base.reach(deadline: deadline)
    } because: {
      "the service cannot be reached: \($0.explanation)"
    }
    trace.note(3, "the service answers")
  }

  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    let answer = try trace.failing(3) { () throws(ServiceError) in
      try base.start(token: token, question, durationSeconds: durationSeconds, deadline: deadline)
    } because: {
      "the request failed: \($0.explanation)"
    }
    switch answer {
    case .pending(let session):
      trace.note(3, "the service asks the phone, \(session.matchCode == nil ? "without" : "with") a code")
    case .notVerifiable: trace.note(3, "the service asks the phone, and knows no verified approvals")
    case .wantsCode: trace.note(3, "the service asks the phone, with a code that nothing shows")
    case .notStarted(let reason):
      noteChange(
        "the service does not ask the phone: \(DisplayText.sanitized(reason ?? "no reason", limit: 100))", at: 3)
    }
    return answer
  }

  var startMayHaveArrived: Bool { base.startMayHaveArrived }

  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    let answer: ApprovalAnswer
    do { answer = try base.approval(of: session, waitSeconds: waitSeconds, deadline: deadline) } catch {
      noteChange("no status: \(error.explanation)")
      throw error
    }
    switch answer {
    case .approved(let session):
      let by = session.approval.map { ", and its signature by \($0.method.rawValue) is verified" } ?? ""
      trace.note(5, "the status is active: the phone approved\(by)")
    case .waiting(let status, _): noteChange("the status is \(status.word)")
    case .ended(let status, let reason):
      let why = reason.map { ", \($0)" } ?? ""
      trace.note(4, "the request ended: \(DisplayText.sanitized(status.word + why, limit: 100))")
    }
    return answer
  }

  /// Logs a text unless it is the same as the last one, because the status is asked each second.
  private func noteChange(_ text: String, at step: Int = 4) {
    if text != noted { trace.note(step, text) }
    noted = text
  }

  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    try trace.failing(4) { () throws(ServiceError) in
      try base.end(session, deadline: deadline)
    } because: {
      "the request was not taken back: \($0.explanation)"
    }
    trace.note(4, "the request was taken back")
  }
}

/// Logs the result of ⑥.
struct TracedRecorder: SessionRecorder {
  let base: any SessionRecorder
  let trace: StepTrace

  func requireRecordable() throws(LedgerError) {
    try trace.failing(6) { () throws(LedgerError) in
      try base.requireRecordable()
    } because: {
      "no record could be kept: \($0.explanation)"
    }
  }

  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord {
    let record = try trace.failing(6) { () throws(LedgerError) in
      try base.record(session)
    } because: {
      "no record: \($0.explanation)"
    }
    trace.note(6, "the session is recorded as \(record.publicName)")
    return record
  }

  func record(_ proof: OfflineProof) throws(LedgerError) -> SessionRecord {
    let record = try trace.failing(6) { () throws(LedgerError) in
      try base.record(proof)
    } because: {
      "no record: \($0.explanation)"
    }
    trace.note(6, "the session is recorded as \(record.publicName), without the service")
    return record
  }
}

/// Logs the results of typed recovery codes, but never a code.
struct TracedRecoveryCodeVerifier: RecoveryCodeVerifier {
  let base: any RecoveryCodeVerifier
  let trace: StepTrace

  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict {
    let verdict = try trace.failing(5) { () throws(RecoveryError) in
      try base.take(code, isEnrolled: isEnrolled)
    } because: {
      "the recovery code cannot be looked up: \($0.explanation)"
    }
    switch verdict {
    case .accepted(let accepted): trace.note(5, "recovery code \(accepted.number) is used up, and opens this sign-in")
    case .used(let number): trace.note(5, "recovery code \(number) has served before")
    case .wrong: trace.note(5, "not a recovery code of the user")
    }
    return verdict
  }
}

/// Logs questions to a phone without a network, and the results of typed digits, but never their contents.
struct TracedOfflineApprovalVerifier: OfflineApprovalVerifier {
  let base: any OfflineApprovalVerifier
  let trace: StepTrace

  func question(isEnrolled: Bool) throws(OfflineError) -> PosedQuestion? {
    let posed = try trace.failing(5) { () throws(OfflineError) in
      try base.question(isEnrolled: isEnrolled)
    } because: {
      "the phone cannot be asked without the service: \($0.explanation)"
    }
    trace.note(
      5, posed == nil ? "no phone is known that could approve without the service" : "a phone may approve by digits")
    return posed
  }

  func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, isEnrolled: Bool
  ) throws(OfflineError) -> DigitsVerdict {
    let verdict = try trace.failing(5) { () throws(OfflineError) in
      try base.take(digits, for: question, isEnrolled: isEnrolled)
    } because: {
      "the digits cannot be checked: \($0.explanation)"
    }
    switch verdict {
    case .approved: trace.note(5, "the digits are the phone's: it approved without the service")
    case .tooLate: trace.note(5, "the time for these digits is over")
    case .wrong: trace.note(5, "not the digits of the user's phone")
    }
    return verdict
  }
}

extension LoginAttempt {
  /// The same attempt, with each decision logged.
  func traced(by trace: StepTrace) -> LoginAttempt {
    LoginAttempt(
      request: request, policy: policy, tokens: TracedTokenLookup(base: tokens, trace: trace),
      trust: trust.map { TracedTrust(base: $0, trace: trace) },
      service: TracedService(base: service, trace: trace), conversation: conversation,
      limit: TracedRequestLimit(base: limit, trace: trace), recorder: TracedRecorder(base: recorder, trace: trace),
      clock: clock,
      offline: offline.map { ways in
        OfflineWays(
          codes: ways.codes.map { TracedRecoveryCodeVerifier(base: $0, trace: trace) },
          phone: ways.phone.map { TracedOfflineApprovalVerifier(base: $0, trace: trace) },
          limit: TracedRequestLimit(base: ways.limit, trace: trace),
          remoteDigits: ways.remoteDigits.map { TracedRequestLimit(base: $0, trace: trace) })
      }, resumable: resumable)
  }
}
