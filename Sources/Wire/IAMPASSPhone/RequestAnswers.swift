import DeviceProtocol
import IAMPASSProtocol

/// What the user decided about a request.
public enum PhoneDecision: Equatable, Sendable {
  /// - Parameter code: what the user typed, if ``OpenRequest/asksCode``.
  case approve(code: MatchCode? = nil)
  case deny
  /// Deny, and block the request's source for a while: someone else made it.
  case notMe
  /// This phone cannot prove what the request asks for. The sign-in then ends at once.
  case unable

  public var answer: DeviceAnswer {
    switch self {
    case .approve: .approve
    case .deny: .deny
    case .notMe: .notMe
    case .unable: .unable
    }
  }
}

/// The result of an answer. Only ``taken`` means that the user's decision took effect.
public enum AnswerOutcome: Equatable, Sendable {
  case taken
  /// The terminal shows another code: the service denied the request.
  case hasAnotherCode
  case alreadyAnswered
  /// The request has ended.
  case tooLate
}

/// The two digits that a terminal shows.
public struct MatchCode: Equatable, Sendable {
  public let digits: String

  /// Nil for any other text. A mistyped text must not count as a wrong code, which would deny the request.
  public init?(_ text: String) {
    let trimmed = text.filter { $0 != " " && $0 != "\r" }
    guard trimmed.utf8.count == 2, trimmed.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    digits = trimmed
  }
}

extension RegisteredPhone {
  /// Sends the user's answer, signed over everything that `request` shows.
  ///
  /// - Parameters:
  ///   - authenticator: used to approve by the method `device`.
  ///   - face: used to approve by the method `facial`.
  ///   - document: the document that the user was shown, if the request is for one (``OpenRequest/isForDocument``).
  /// - Throws: ``PhoneError``, and what `authenticator` throws. Nothing was sent after
  ///   ``PhoneError/methodNotSupported``: the phone cannot prove the request's method, or its user declined. Nor after
  ///   ``PhoneError/documentNotShown``: the request's own document is missing.
  public func answer(
    _ request: OpenRequest, with decision: PhoneDecision, authenticator: (any PhoneAuthenticator)? = nil,
    face: (any PhoneFace)? = nil, showing document: ReviewedDocument? = nil
  ) throws -> AnswerOutcome {
    let statement = try statement(decision, on: request, document).json
    let assertion =
      decision.answer == .approve ? try proof(of: request, over: statement, authenticator, face) : nil
    do throws(PhoneError) {
      _ = try post(statement, DeviceRoute.answer, assertion: assertion)
      return .taken
    } catch .refused(let status, let reason) {
      switch reason {
      case "WRONG_CODE": return .hasAnotherCode
      case "ALREADY_ANSWERED": return .alreadyAnswered
      case "TOO_LATE", "UNKNOWN_REQUEST": return .tooLate
      default: throw PhoneError.refused(status: status, reason: reason)
      }
    }
  }

  private func statement(
    _ decision: PhoneDecision, on request: OpenRequest, _ document: ReviewedDocument?
  ) throws(PhoneError) -> AnswerStatement {
    let isApproval = decision.answer == .approve
    // The phone signs only the digest of what was shown.
    guard !isApproval || request.isForDocument == (document != nil),
      document.map({ $0.document.challenge == request.challenge }) ?? true
    else { throw .documentNotShown }
    // Only a computer that verifies the answer uses it.
    let key = request.challenge == nil ? nil : account.agreementKey
    let agreementKey = try key.map { (key) throws(PhoneError) in
      try keyed { () throws(DeviceKeyError) in try key.publicKeyText }
    }
    var digits = ""
    if case .approve(let code?) = decision { digits = code.digits }
    return AnswerStatement(
      origin: account.server.origin, device: account.device, session: request.session, answer: decision.answer,
      contextHash: ShownContext.hash(request.context), nonce: request.nonce, expires: request.expires,
      method: request.method, code: digits, challenge: request.challenge, agreementKey: agreementKey,
      document: isApproval ? document.map { Digest.hexadecimal($0.document.digest) } : nil)
  }

  /// The authenticator's assertion; nil for the methods `acceptance` and `facial`.
  private func proof(
    of request: OpenRequest, over statement: JSON, _ authenticator: (any PhoneAuthenticator)?, _ face: (any PhoneFace)?
  ) throws -> UnverifiedAssertion? {
    if request.method == .acceptance { return nil }
    if request.method == .facial {
      guard let face, try face.recognizesUser(for: request) else { throw PhoneError.methodNotSupported }
      return nil
    }
    guard request.method == .device, let authenticator, let credential = request.credential,
      let assertion = try authenticator.assertion(
        of: credential, challenge: CredentialChallenge.bytes(for: statement), origin: account.server.origin)
    else { throw PhoneError.methodNotSupported }
    return assertion
  }

  /// Adds a credential for the method `device`, or replaces `old`.
  ///
  /// - Parameter old: the id of the credential that the phone has, as base64url; nil if it has none.
  /// - Throws: ``PhoneError/methodNotSupported`` if the user declined; then nothing was changed.
  public func update(
    credentialBy authenticator: some PhoneAuthenticator, replacing old: String? = nil
  ) throws -> DeviceStatusReply {
    let ask = try newAsk(.credential)
    let publicKey = try keyed { () throws(DeviceKeyError) in try account.key.publicKeyText }
    let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: publicKey)
    guard let made = try authenticator.makeCredential(challenge: challenge, origin: account.server.origin) else {
      throw PhoneError.methodNotSupported
    }
    let statement = CredentialStatement(ask: ask, credential: made).json
    let assertion = try old.map { (credential) in
      guard
        let proof = try authenticator.assertion(
          of: credential, challenge: CredentialChallenge.bytes(for: statement), origin: account.server.origin)
      else { throw PhoneError.methodNotSupported }
      return proof
    }
    return try described(by: try post(statement, DeviceRoute.credential, assertion: assertion))
  }
}
