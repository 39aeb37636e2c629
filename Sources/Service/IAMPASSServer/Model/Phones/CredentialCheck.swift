import CFido2
import DeviceProtocol
import IAMPASSProtocol

/// A phone's WebAuthn credential. It is proven that its authenticator has just made it for this service, and has
/// verified its user.
///
/// Attestation is not checked: the user who opened the registration link vouches for the authenticator, and for its word
/// that the credential stays in it.
struct VerifiedCredential: Sendable, Equatable {
  /// The credential's id in Base64url.
  let id: String
  /// The public key: base64 of its `SubjectPublicKeyInfo`.
  let publicKey: String
  /// The signature counter; 0 if the authenticator does not count.
  let counter: UInt32
  /// Whether it may be synced to other devices; nil if an older version of the service took it, until its next
  /// approval.
  var isBackupEligible: Bool? = nil
}

/// What an authenticator says of itself with an assertion that was verified.
struct AuthenticatorState: Sendable, Equatable {
  /// The new signature counter; 0 if the authenticator does not count.
  let counter: UInt32
  /// Whether its credential may be synced to other devices.
  let isBackupEligible: Bool
}

extension AuthenticatorState {
  fileprivate init(_ data: UnverifiedAuthenticatorData) {
    self.init(counter: data.counter, isBackupEligible: data.flags.contains(.backupEligible))
  }
}

/// The checks of Web Authentication, level 2, §7.1 and §7.2, for one relying party.
struct CredentialCheck: Sendable {
  private let party: RelyingParty

  /// - Parameter origin: the origin as the browser spells it.
  init(origin: String) { party = RelyingParty(origin: origin) }

  /// Whether this is a new ES256 credential over `challenge`.
  func credential(
    _ unverified: UnverifiedCredential, challenge: [UInt8]
  ) -> Result<VerifiedCredential, CredentialRefusal> {
    if let refusal = party.refusal(of: unverified.clientData, type: "webauthn.create", challenge: challenge) {
      return .failure(refusal)
    }
    guard let data = UnverifiedAuthenticatorData(unverified.authenticatorData) else {
      return .failure(.authenticatorData)
    }
    if let refusal = party.refusal(of: data) { return .failure(refusal) }
    guard let made = data.credential else { return .failure(.authenticatorData) }
    guard made.id == unverified.id else { return .failure(.credentialID) }
    // The key must be on its curve, and must be the one that the authenticator made.
    guard let key = try? DevicePublicKey(unverified.publicKey), key.coordinates == made.coordinates else {
      return .failure(.key)
    }
    let state = AuthenticatorState(data)
    return .success(
      VerifiedCredential(
        id: Base64URL.encode(made.id), publicKey: key.text, counter: state.counter,
        isBackupEligible: state.isBackupEligible))
  }

  /// Checks that the authenticator of `credential` has signed `challenge`, and has verified its user.
  ///
  /// - Returns: what the authenticator says of itself.
  func assertion(
    _ unverified: UnverifiedAssertion, by credential: VerifiedCredential, challenge: [UInt8]
  ) -> Result<AuthenticatorState, CredentialRefusal> {
    if let refusal = party.refusal(of: unverified.clientData, type: "webauthn.get", challenge: challenge) {
      return .failure(refusal)
    }
    guard let data = UnverifiedAuthenticatorData(unverified.authenticatorData) else {
      return .failure(.authenticatorData)
    }
    if let refusal = party.refusal(of: data) { return .failure(refusal) }
    // The counter of an authenticator that counts must grow. If it does not, the authenticator was copied (§6.1.1).
    let counts = data.counter != 0 || credential.counter != 0
    guard !counts || data.counter > credential.counter else { return .failure(.counter) }
    let state = AuthenticatorState(data)
    guard credential.isBackupEligible ?? state.isBackupEligible == state.isBackupEligible else {
      return .failure(.backupEligibility)
    }
    guard let key = try? DevicePublicKey(credential.publicKey) else { return .failure(.key) }
    guard FidoAssertion.verifies(unverified, by: key, relyingPartyID: party.id) else {
      return .failure(.signature)
    }
    return .success(state)
  }
}

/// libfido2's check of an assertion: relying party, presence, verification and signature, over the raw bytes.
private enum FidoAssertion {
  static func verifies(
    _ assertion: UnverifiedAssertion, by key: DevicePublicKey, relyingPartyID: String
  ) -> Bool {
    var fido: OpaquePointer? = fido_assert_new()
    var point: OpaquePointer? = es256_pk_new()
    defer {
      fido_assert_free(&fido)
      es256_pk_free(&point)
    }
    let hash = Digest.sha256(assertion.clientData)
    let data = assertion.authenticatorData
    let signature = assertion.signature
    // SAFETY: libfido2 copies what it is given; each array lives through its call.
    guard fido != nil, point != nil,
      es256_pk_from_ptr(point, key.coordinates, key.coordinates.count) == FIDO_OK,
      fido_assert_set_count(fido, 1) == FIDO_OK,
      fido_assert_set_rp(fido, relyingPartyID) == FIDO_OK,
      fido_assert_set_clientdata_hash(fido, hash, hash.count) == FIDO_OK,
      fido_assert_set_authdata_raw(fido, 0, data, data.count) == FIDO_OK,
      fido_assert_set_sig(fido, 0, signature, signature.count) == FIDO_OK,
      fido_assert_set_up(fido, FIDO_OPT_TRUE) == FIDO_OK,
      fido_assert_set_uv(fido, FIDO_OPT_TRUE) == FIDO_OK
    else { return false }
    return fido_assert_verify(fido, 0, COSE_ES256, UnsafeRawPointer(point)) == FIDO_OK
  }
}
