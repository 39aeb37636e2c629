import DeviceProtocol
import HostState
import HostSystem
import IAMPASSProtocol
import WorkerLink

@testable import IAMPASSClient

/// A phone and its authenticator, in software. It signs what a test tells it to, also what no honest phone would.
struct SigningPhone {
  static let origin = "https://iam.example"

  let id: String
  let key: DeviceKey
  /// The screen lock's.
  let lock: DeviceKey

  init(_ id: String = "phone-1") throws {
    self.id = id
    key = try DeviceKey.generate()
    lock = try DeviceKey.generate()
  }

  func pin(lock hasLock: Bool = true) throws -> PinnedPhone {
    guard let own = P256PublicKey(try key.publicKey.text), let locked = P256PublicKey(try lock.publicKey.text),
      let credential = PinnedPhone.Credential(id: Base64URL.encode([1, 2, 3]), key: locked),
      let phone = PinnedPhone(id: id, key: own, credential: hasLock ? credential : nil, since: 1, name: "my phone")
    else { throw DeviceKeyError.notAKey }
    return phone
  }

  /// The parts of an approval that can be wrong.
  struct Wrong {
    var phone: String?
    var device: String?
    var answer: DeviceAnswer = .approve
    var origin = SigningPhone.origin
    var session = "session-1"
    var challenge: ApprovalChallenge??
    var contextHash: String?
    var method: AuthenticationMethod = .device
    var code: String?
    /// Nil inside: without the member.
    var document: String??
    var signer: DeviceKey?
    /// The phone's public key for agreement.
    var agreementKey: String?
    var hasAssertion = true
    var lockSigner: DeviceKey?
    var type = "webauthn.get"
    var assertedChallenge: [UInt8]?
    var crossOrigin = false
    var relyingParty = "iam.example"
    /// Touched and verified.
    var flags: UInt8 = 0x05
    var moreAfterSignature: [UInt8] = []
  }

  /// What the service hands on for an approval of `asked`.
  func approval(of asked: AskedApproval, _ wrong: Wrong = Wrong()) throws -> JSON {
    let statement = AnswerStatement(
      origin: wrong.origin, device: wrong.device ?? id, session: wrong.session, answer: wrong.answer,
      contextHash: wrong.contextHash ?? asked.contextHash, nonce: "n", expires: 1, method: wrong.method,
      code: wrong.code ?? asked.code.exposedValue, challenge: wrong.challenge ?? asked.challenge,
      agreementKey: wrong.agreementKey, document: wrong.document ?? asked.document.map(Digest.hexadecimal)
    ).json
    let signature = try (wrong.signer ?? key).signature(over: statement.canonicallyEncoded())
    return JSON.object([
      "phone": .string(wrong.phone ?? id), "statement": statement, "signature": .string(Base64.encode(signature)),
      "assertion": wrong.hasAssertion ? try assertion(over: statement, wrong).json : nil,
    ])
  }

  private func assertion(over statement: JSON, _ wrong: Wrong) throws -> UnverifiedAssertion {
    let challenge = wrong.assertedChallenge ?? CredentialChallenge.bytes(for: statement)
    let clientData = JSON.object([
      "type": .string(wrong.type), "challenge": .string(Base64URL.encode(challenge)), "origin": .string(wrong.origin),
      "crossOrigin": .bool(wrong.crossOrigin),
    ]).encoded()
    let data = Digest.sha256(Array(wrong.relyingParty.utf8)) + [wrong.flags] + [0, 0, 0, 0]
    let raw = try (wrong.lockSigner ?? lock).signature(over: data + Digest.sha256(clientData))
    let signature = (ECDSASignature(raw: raw)?.der ?? []) + wrong.moreAfterSignature
    return UnverifiedAssertion(authenticatorData: data, clientData: clientData, signature: signature)
  }
}
