/// An approval that a trusted phone signed for this very request. Only ``ApprovalCheck`` makes one.
public struct VerifiedApproval: Sendable {
  /// The phone that signed.
  public let phone: PinnedPhone
  /// How the phone identified its user.
  public let method: AuthenticationMethod
  /// The phone's signed key for agreement. Nil if it is missing or malformed, and for a locum's phone, which answers
  /// only this request.
  public let agreementKey: P256PublicKey?
  /// Whether an administrator's phone answered for the user.
  public let isByLocum: Bool

  fileprivate init(phone: PinnedPhone, method: AuthenticationMethod, agreementKey: P256PublicKey?, isByLocum: Bool) {
    self.phone = phone
    self.method = method
    self.agreementKey = isByLocum ? nil : agreementKey
    self.isByLocum = isByLocum
  }
}

/// Checks that a trusted phone signed the service's copy of an approval, for exactly this request.
///
/// The result depends only on the arguments. The order of checks: form, phone, signature, each signed member,
/// authenticator. `expires` and the authenticator's counter are not checked. The challenge proves that the approval is
/// fresh, and the caller waits only for a limited time.
package struct ApprovalCheck: Sendable {
  package let asked: AskedApproval
  /// The service's name for the session; nil: any, for a document. A document's challenge is in no other request that a
  /// phone signs.
  private let session: String?

  package init(asked: AskedApproval, session: String?) {
    self.asked = asked
    self.session = session
  }

  package func verified(_ json: JSON?) throws(ApprovalRefusal) -> VerifiedApproval {
    guard let json else { throw .missing }
    let approval: UnverifiedApproval
    do { approval = try UnverifiedApproval(json) } catch { throw .malformed }
    let statement = approval.statement
    guard Self.areSame(statement.device, approval.phone),
      let (phone, method) = asked.demand.phone(approval.phone)
    else { throw .otherPhone }
    let text = approval.signed.canonicallyEncoded()
    guard try isMade(approval.signature, over: Digest.sha256(text), by: phone.key) else { throw .signature }
    guard statement.answer == .approve else { throw .answer }
    guard Self.areSame(statement.origin, asked.origin) else { throw .origin }
    if let session, !Self.areSame(statement.session, session) { throw .session }
    guard let challenge = statement.challenge, Digest.areEqual(challenge.bytes, asked.challenge.bytes) else {
      throw .challenge
    }
    guard Self.areSame(statement.contextHash, asked.contextHash) else { throw .context }
    guard Self.areSame(statement.document ?? "", asked.document.map(Digest.hexadecimal) ?? "") else { throw .document }
    guard asked.document != nil || Self.areSame(statement.code, asked.code.exposedValue) else { throw .code }
    guard statement.method == method else { throw .method }
    switch method {
    case .acceptance: break
    case .device: try checkAssertion(approval, by: phone)
    case .facial: throw .method
    }
    return VerifiedApproval(
      phone: phone, method: method, agreementKey: statement.agreementKey.flatMap { P256PublicKey($0) },
      isByLocum: asked.demand.isLocum(phone))
  }

  /// Checks that the phone's authenticator verified its user for this statement (Web Authentication, level 2, §7.2).
  private func checkAssertion(_ approval: UnverifiedApproval, by phone: PinnedPhone) throws(ApprovalRefusal) {
    guard let assertion = approval.assertion else { throw .assertionMissing }
    guard let credential = phone.credential else { throw .method }
    let party = RelyingParty(origin: asked.origin)
    let challenge = CredentialChallenge.bytes(for: approval.signed)
    if let refusal = party.refusal(of: assertion.clientData, type: "webauthn.get", challenge: challenge) {
      throw .assertion(refusal)
    }
    guard let data = UnverifiedAuthenticatorData(assertion.authenticatorData) else {
      throw .assertion(.authenticatorData)
    }
    if let refusal = party.refusal(of: data) { throw .assertion(refusal) }
    guard let signature = ECDSASignature(der: assertion.signature) else { throw .assertion(.signature) }
    let digest = Digest.sha256(assertion.authenticatorData + Digest.sha256(assertion.clientData))
    guard try isMade(signature, over: digest, by: credential.key) else { throw .assertion(.signature) }
  }

  /// Compares bytes: for Swift, two encodings of one character are equal texts.
  private static func areSame(_ left: String, _ right: String) -> Bool {
    Digest.areEqual(Array(left.utf8), Array(right.utf8))
  }

  private func isMade(
    _ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey
  ) throws(ApprovalRefusal) -> Bool {
    do { return try asked.demand.verifier.verifies(signature, over: digest, by: key) } catch {
      throw .unverifiable(error)
    }
  }
}
