/// The signature that accompanies a document. As received, nothing is verified.
public enum DocumentProof: Sendable, Equatable {
  /// A phone's signed approval: an object with `phone`, `statement`, `signature` and perhaps `assertion`, as in
  /// ``StatusReply/approval``.
  case phone(JSON)
  /// A recovery key's signature over ``recoveryText(of:)``.
  case recovery(P256PublicKey, ECDSASignature)

  /// The greatest size as JSON, in bytes. A phone's statement has some 800, an authenticator's assertion some 600.
  public static let greatestSize = 8_192

  public init(_ json: JSON) throws(MessageError) {
    guard json.encoded().count <= Self.greatestSize else { throw .member("proof") }
    if json["recovery"] != nil {
      guard let key = P256PublicKey(try json.text("recovery")) else { throw .member("recovery") }
      guard let raw = Base64.decode(try json.text("signature")), let signature = ECDSASignature(raw: raw) else {
        throw .member("signature")
      }
      self = .recovery(key, signature)
    } else {
      _ = try UnverifiedApproval(json)
      self = .phone(json)
    }
  }

  public var json: JSON {
    switch self {
    case .phone(let approval): approval
    case .recovery(let key, let signature):
      .object(["recovery": .string(key.text), "signature": .string(Base64.encode(signature.raw))])
    }
  }

  /// The text that a recovery key signs (ECDSA with SHA-256).
  public static func recoveryText(of document: SignedDocument) -> [UInt8] {
    JSON.object([
      "purpose": .string("iampass-recovery/1"), "document": .string(Digest.hexadecimal(document.digest)),
    ]).canonicallyEncoded()
  }
}

/// Why a proof does not prove a document.
public enum DocumentRefusal: Error, Sendable, Equatable {
  case approval(ApprovalRefusal)
  /// A recovery key may sign only sets of administrators.
  case recoveryKeyForList
  /// The recovery key is not in the set of administrators.
  case otherRecoveryKey
  case signature
  /// The set does not follow from the previous set.
  case notNext
  /// The list names a set that does not lead to the one in force.
  case otherSet

  /// A few words, for a log.
  public var explanation: String {
    switch self {
    case .approval(let refusal): refusal.explanation
    case .recoveryKeyForList: "a recovery key signed it, which signs no list of users"
    case .otherRecoveryKey: "another recovery key signed it"
    case .signature: "the recovery key's signature is wrong"
    case .notNext: "the set of administrators does not follow from the last one"
    case .otherSet: "it names administrators who do not lead to those of now"
    }
  }
}

/// Who signed a document. Only ``DocumentCheck`` makes one.
public struct DocumentSigner: Sendable, Equatable {
  /// The administrator's name, or the recovery key's name.
  public let name: String
  /// The phone's id; nil for a recovery key.
  public let phone: String?
}

/// Whether a key of a set of administrators signed a document.
public struct DocumentCheck: Sendable {
  private let set: AdministratorSet
  private let former: [AdministratorSet]
  private let origin: String
  private let verifier: any SignatureVerifier

  /// - Parameters:
  ///   - set: the set in force: for a list the newest set, for a set the previous one.
  ///   - former: for a list that names an earlier set, the sets from the named one to the one before `set`.
  ///   - origin: the service's origin, as phones spell it.
  public init(
    set: AdministratorSet, former: [AdministratorSet] = [], origin: String, verifier: any SignatureVerifier
  ) {
    self.set = set
    self.former = former
    self.origin = origin
    self.verifier = verifier
  }

  /// Who signed the document; throws if no key of the set did.
  ///
  /// For a list, the phone must be in the set in force and in the set that the list names.
  public func signer(of document: SignedDocument, _ proof: DocumentProof) throws(DocumentRefusal) -> DocumentSigner {
    do { try verifier.prepare() } catch { throw .approval(.unverifiable(error)) }
    switch document {
    case .administrators(let next):
      guard next.follows(set) else { throw .notNext }
    case .users(let head):
      let named = try named(by: head)
      if named != set { _ = try signer(of: document, proof, in: named) }
    }
    return try signer(of: document, proof, in: set)
  }

  /// The set that the list names: the set in force, or an earlier one that leads to it.
  private func named(by head: UserListHead) throws(DocumentRefusal) -> AdministratorSet {
    if Digest.areEqual(head.administrators, set.digest) { return set }
    guard let first = former.first, Digest.areEqual(head.administrators, first.digest),
      zip(former, former.dropFirst() + [set]).allSatisfy({ before, next in next.follows(before) })
    else { throw .otherSet }
    return first
  }

  private func signer(
    of document: SignedDocument, _ proof: DocumentProof, in set: AdministratorSet
  ) throws(DocumentRefusal) -> DocumentSigner {
    switch proof {
    case .phone(let approval): return try phone(document, approval, set)
    case .recovery(let key, let signature):
      guard document.kind == .administrators else { throw .recoveryKeyForList }
      return try recovery(document, key, signature)
    }
  }

  private func phone(
    _ document: SignedDocument, _ approval: JSON, _ set: AdministratorSet
  ) throws(DocumentRefusal) -> DocumentSigner {
    let demand: ApprovalDemand
    // A set has a phone, and each phone proves a method.
    do { demand = try ApprovalDemand(phones: set.phones, asked: [], verifier: verifier) } catch {
      throw .approval(.otherPhone)
    }
    let asked = AskedApproval(
      demand, challenge: document.challenge, code: Secret(""), context: document.context, origin: origin,
      document: document.digest)
    let verified: VerifiedApproval
    do { verified = try ApprovalCheck(asked: asked, session: nil).verified(approval) } catch { throw .approval(error) }
    guard let name = set.administrator(withPhone: verified.phone.id) else { throw .approval(.otherPhone) }
    return DocumentSigner(name: name, phone: verified.phone.id)
  }

  private func recovery(
    _ document: SignedDocument, _ key: P256PublicKey, _ signature: ECDSASignature
  ) throws(DocumentRefusal) -> DocumentSigner {
    guard let name = set.recoveryKey(key) else { throw .otherRecoveryKey }
    let digest = Digest.sha256(DocumentProof.recoveryText(of: document))
    let isMade: Bool
    do { isMade = try verifier.verifies(signature, over: digest, by: key) } catch {
      throw .approval(.unverifiable(error))
    }
    guard isMade else { throw .signature }
    return DocumentSigner(name: name, phone: nil)
  }
}
