import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Each fault alone causes a refusal.
@Suite struct CredentialCheckTests {
  private typealias Wrong = TestAuthenticator.Wrong

  private let check = CredentialCheck(origin: Fixture.origin)
  private let authenticator: TestAuthenticator
  private let challenge = Digest.sha256([7])

  init() throws { authenticator = try TestAuthenticator() }

  private func own(counter: UInt32 = 0, isBackupEligible: Bool? = false) throws -> VerifiedCredential {
    VerifiedCredential(
      id: Base64URL.encode(authenticator.id), publicKey: try authenticator.key.publicKey.text, counter: counter,
      isBackupEligible: isBackupEligible)
  }

  @Test func aCredentialIsTakenWithItsCounter() throws {
    let made = try authenticator.credential(challenge: challenge, Wrong(counter: 9))
    #expect(check.credential(made, challenge: challenge) == .success(try own(counter: 9)))
  }

  @Test(arguments: [
    (TestAuthenticator.Wrong(type: "webauthn.get"), CredentialRefusal.type), (.init(challenge: []), .challenge),
    (.init(challenge: [7]), .challenge), (.init(origin: "https://elsewhere.test"), .origin),
    (.init(origin: "https://iampass.test."), .origin), (.init(crossOrigin: true), .origin),
    (.init(relyingParty: "test"), .relyingParty), (.init(flags: 0x04), .userNotPresent),
    (.init(flags: 0x01), .userNotVerified), (.init(algorithm: 0x27), .authenticatorData),
    (.init(announcedLength: 0), .authenticatorData), (.init(announcedLength: 3), .authenticatorData),
    (.init(more: [0]), .authenticatorData),
  ])
  func aWrongCredentialIsRefusedForItsFault(_ wrong: TestAuthenticator.Wrong, _ refusal: CredentialRefusal) throws {
    let made = try authenticator.credential(challenge: challenge, wrong)
    #expect(check.credential(made, challenge: challenge) == .failure(refusal))
  }

  @Test func anAssertionIsTakenWithItsCounter() throws {
    let made = try authenticator.assertion(challenge: challenge, Wrong(counter: 9))
    #expect(
      check.assertion(made, by: try own(counter: 8), challenge: challenge)
        == .success(AuthenticatorState(counter: 9, isBackupEligible: false)))
  }

  @Test(arguments: [
    (TestAuthenticator.Wrong(type: "webauthn.create"), CredentialRefusal.type), (.init(challenge: [7]), .challenge),
    (.init(origin: "https://elsewhere.test"), .origin), (.init(crossOrigin: true), .origin),
    (.init(relyingParty: "test"), .relyingParty), (.init(flags: 0x04), .userNotPresent),
    (.init(flags: 0x01), .userNotVerified), (.init(more: [0]), .authenticatorData),
  ])
  func aWrongAssertionIsRefusedForItsFault(_ wrong: TestAuthenticator.Wrong, _ refusal: CredentialRefusal) throws {
    let made = try authenticator.assertion(challenge: challenge, wrong)
    #expect(check.assertion(made, by: try own(), challenge: challenge) == .failure(refusal))
  }

  @Test(arguments: [(5, 5), (5, 4), (5, 0), (UInt32.max, 0)] as [(UInt32, UInt32)])
  func aCounterThatDoesNotGoOnIsRefusedForThat(_ before: UInt32, _ now: UInt32) throws {
    let made = try authenticator.assertion(challenge: challenge, Wrong(counter: now))
    #expect(check.assertion(made, by: try own(counter: before), challenge: challenge) == .failure(.counter))
  }

  /// Everything is right except the signature, which libfido2 checks.
  @Test func aChangedSignatureIsRefusedForThat() throws {
    let made = try authenticator.assertion(challenge: challenge)
    var signature = made.signature
    signature[signature.count - 1] ^= 1
    let changed = UnverifiedAssertion(
      authenticatorData: made.authenticatorData, clientData: made.clientData, signature: signature)
    #expect(check.assertion(changed, by: try own(), challenge: challenge) == .failure(.signature))
  }

  /// 0x08: it may be synced. 0x10: it is, at this moment, which may change.
  @Test(arguments: [(UInt8(0x05), false), (0x15, false), (0x0D, true), (0x1D, true)])
  func aCredentialIsTakenWithItsWordOnSyncing(_ flags: UInt8, _ isEligible: Bool) throws {
    let made = try authenticator.credential(challenge: challenge, Wrong(flags: flags))
    #expect(check.credential(made, challenge: challenge) == .success(try own(isBackupEligible: isEligible)))
    let approval = try authenticator.assertion(challenge: challenge, Wrong(flags: flags))
    let state = AuthenticatorState(counter: 0, isBackupEligible: isEligible)
    #expect(
      check.assertion(approval, by: try own(isBackupEligible: isEligible), challenge: challenge) == .success(state))
    // One of which an older version stored nothing.
    #expect(check.assertion(approval, by: try own(isBackupEligible: nil), challenge: challenge) == .success(state))
    #expect(
      check.assertion(approval, by: try own(isBackupEligible: !isEligible), challenge: challenge)
        == .failure(.backupEligibility))
  }

  /// The signature covers the counter too.
  @Test func changedAuthenticatorDataAreRefusedBySignature() throws {
    let made = try authenticator.assertion(challenge: challenge, Wrong(counter: 9))
    var data = made.authenticatorData
    data[36] = 10
    let changed = UnverifiedAssertion(
      authenticatorData: data, clientData: made.clientData, signature: made.signature)
    #expect(check.assertion(changed, by: try own(), challenge: challenge) == .failure(.signature))
  }

  @Test func thePortIsPartOfTheOriginAndNotOfTheRelyingParty() throws {
    let check = CredentialCheck(origin: "https://iampass.test:8443")
    let wrong = Wrong(origin: "https://iampass.test:8443")
    #expect(
      check.credential(try authenticator.credential(challenge: challenge, wrong), challenge: challenge)
        == .success(try own()))
    #expect(
      check.credential(try authenticator.credential(challenge: challenge), challenge: challenge) == .failure(.origin))
  }
}
