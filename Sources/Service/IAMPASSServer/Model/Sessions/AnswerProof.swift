import DeviceProtocol
import IAMPASSProtocol

/// A phone's kept answer, for whoever asks what proves an entry of the audit.
public struct AnswerProof: Sendable {
  /// Why the kept answer proves nothing.
  public enum Flaw: String, Sendable {
    case signature = "the phone's signature is wrong"
    case statement = "the phone signed this for another request"
    case context = "the phone showed something else"
    case assertion = "the screen lock's signature is missing or wrong"
  }

  let session: String
  let phone: String
  /// Base64 of the phone's `SubjectPublicKeyInfo`, as it was when the phone answered.
  let publicKey: String
  let statement: String
  let signature: String
  let context: String
  /// The authenticator's assertion as JSON, with the key that verifies it; nil for a tap.
  let assertion: (json: String, publicKey: String)?
  /// The members of a line of JSON.
  let members: [JSON.Member]

  /// Nil if the phone signed this statement about this request and context, and if its authenticator signed that too
  /// where the request asked for it.
  public var flaw: Flaw? {
    let text = Array(statement.utf8)
    guard let key = try? DevicePublicKey(publicKey), let raw = Base64.decode(signature), key.verifies(raw, over: text)
    else { return .signature }
    guard let json = try? JSON(parsing: text), let signed = try? AnswerStatement(json), signed.session == session,
      signed.device == phone
    else { return .statement }
    guard signed.contextHash == Digest.hexadecimal(Digest.sha256(Array(context.utf8))) else { return .context }
    guard assertion != nil || signed.method == .device && signed.answer == .approve else { return nil }
    return isAsserted(json, at: signed.origin) ? nil : .assertion
  }

  /// Whether the authenticator signed the statement (Web Authentication, level 2, §7.2).
  private func isAsserted(_ signed: JSON, at origin: String) -> Bool {
    guard let assertion, let json = try? JSON(parsing: Array(assertion.json.utf8)),
      let proof = try? UnverifiedAssertion(json), let key = try? DevicePublicKey(assertion.publicKey),
      let data = UnverifiedAuthenticatorData(proof.authenticatorData),
      let signature = ECDSASignature(der: proof.signature)
    else { return false }
    let party = RelyingParty(origin: origin)
    let challenge = CredentialChallenge.bytes(for: signed)
    guard party.refusal(of: proof.clientData, type: "webauthn.get", challenge: challenge) == nil,
      party.refusal(of: data) == nil
    else { return false }
    return key.verifies(signature.raw, over: proof.authenticatorData + Digest.sha256(proof.clientData))
  }
}
