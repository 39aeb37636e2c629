import DeviceProtocol
import HostState
import HostSystem
import IAMPASSProtocol
import Testing

@testable import IAMPASSClient

/// Whose signature a set of administrators and a list of users need.
@Suite struct DocumentCheckTests {
  private let alice: SigningPhone
  private let carol: SigningPhone
  private let recovery: DeviceKey
  private let set: AdministratorSet
  private let next: AdministratorSet
  private let head: UserListHead

  init() throws {
    alice = try SigningPhone("phone-a")
    carol = try SigningPhone("phone-c")
    recovery = try DeviceKey.generate()
    let paper = try #require(P256PublicKey(try recovery.publicKey.text))
    set = try #require(
      AdministratorSet(
        number: 1, previous: [],
        keys: [.phone(name: "alice", try alice.pin()), .recovery(name: "recovery", paper)]))
    next = try #require(
      AdministratorSet(number: 2, previous: set.digest, keys: [.phone(name: "carol", try carol.pin())]))
    head = try #require(
      UserListHead(
        application: "app", epoch: 1, number: 1, administrators: set.digest, previous: [],
        lists: [UserListHead.List(group: "", count: 0, digest: Digest.sha256([]))]))
  }

  private func check(_ set: AdministratorSet? = nil) -> DocumentCheck {
    DocumentCheck(set: set ?? self.set, origin: SigningPhone.origin, verifier: LibcryptoVerifier())
  }

  private func proof(
    _ document: SignedDocument, by phone: SigningPhone, _ change: (inout SigningPhone.Wrong) -> Void = { _ in }
  ) throws -> DocumentProof {
    let demand = try ApprovalDemand(phones: [try phone.pin()], asked: [], verifier: LibcryptoVerifier())
    let asked = AskedApproval(
      demand, challenge: document.challenge, code: Secret("17"), context: document.context,
      origin: SigningPhone.origin, document: document.digest)
    var wrong = SigningPhone.Wrong()
    change(&wrong)
    return try DocumentProof(try phone.approval(of: asked, wrong))
  }

  private func recovered(_ document: SignedDocument, by key: DeviceKey? = nil) throws -> DocumentProof {
    let raw = try (key ?? recovery).signature(over: DocumentProof.recoveryText(of: document))
    return try DocumentProof(
      .object([
        "recovery": .string(try (key ?? recovery).publicKey.text), "signature": .string(Base64.encode(raw)),
      ]))
  }

  private func refusal(
    _ document: SignedDocument, _ proof: DocumentProof, by set: AdministratorSet? = nil
  ) -> DocumentRefusal? {
    do throws(DocumentRefusal) {
      _ = try check(set).signer(of: document, proof)
      return nil
    } catch { return error }
  }

  @Test func aPhoneOfTheSetSignsListsAndSets() throws {
    for document in [SignedDocument.users(head), .administrators(next)] {
      let signer = try check().signer(of: document, try proof(document, by: alice))
      #expect(signer.name == "alice" && signer.phone == "phone-a")
    }
  }

  @Test func aRecoveryKeySignsSetsAlone() throws {
    #expect(try check().signer(of: .administrators(next), try recovered(.administrators(next))).name == "recovery")
    #expect(refusal(.users(head), try recovered(.users(head))) == .recoveryKeyForList)
    let other = try DeviceKey.generate()
    #expect(refusal(.administrators(next), try recovered(.administrators(next), by: other)) == .otherRecoveryKey)
    #expect(refusal(.administrators(next), try recovered(.users(head))) == .signature)
  }

  @Test func aSignerWhoWasRemovedAndOneOfTheSetAfterAreRefused() throws {
    #expect(refusal(.users(head), try proof(.users(head), by: carol)) == .approval(.otherPhone))
    let check = DocumentCheck(
      set: next, former: [set], origin: SigningPhone.origin, verifier: LibcryptoVerifier())
    for phone in [alice, carol] {
      let proof = try proof(.users(head), by: phone)
      #expect(throws: DocumentRefusal.approval(.otherPhone)) { try check.signer(of: .users(head), proof) }
    }
    #expect(refusal(.users(head), try proof(.users(head), by: alice), by: next) == .otherSet)
    #expect(refusal(.administrators(next), try proof(.administrators(next), by: carol)) == .approval(.otherPhone))
  }

  @Test func aSetThatDoesNotFollowIsRefused() throws {
    let third = try #require(AdministratorSet(number: 3, previous: next.digest, keys: next.keys))
    #expect(refusal(.administrators(third), try proof(.administrators(third), by: alice)) == .notNext)
    #expect(refusal(.administrators(set), try proof(.administrators(set), by: alice)) == .notNext)
  }

  @Test func aWrongPartIsRefused() throws {
    let document = SignedDocument.users(head)
    let other = SignedDocument.administrators(next)
    let wrongs: [(ApprovalRefusal, (inout SigningPhone.Wrong) -> Void)] = [
      (.answer, { $0.answer = .deny }), (.origin, { $0.origin = "https://other.example" }),
      (.challenge, { $0.challenge = other.challenge }), (.challenge, { $0.challenge = .some(nil) }),
      (.context, { $0.contextHash = ShownContext.hash(other.context) }),
      (.context, { $0.contextHash = ShownContext.hash(SignInContext(host: "desk-7", service: "sudo")) }),
      (.document, { $0.document = .some(nil) }), (.document, { $0.document = Digest.hexadecimal(other.digest) }),
      (.method, { $0.method = .acceptance }), (.assertionMissing, { $0.hasAssertion = false }),
      (.signature, { [carol] in $0.signer = carol.key }), (.otherPhone, { $0.phone = "phone-c" }),
    ]
    for (reason, change) in wrongs {
      #expect(refusal(document, try proof(document, by: alice, change)) == .approval(reason))
    }
    #expect(refusal(document, try proof(other, by: alice)) == .approval(.challenge))
  }

  @Test func whatWasTypedAndTheServicesNameForItDoNotMatter() throws {
    let document = SignedDocument.users(head)
    let proof = try proof(document, by: alice) {
      $0.code = "99"
      $0.session = "another"
    }
    #expect(refusal(document, proof) == nil)
  }

  @Test func aSignInIsNotADocument() throws {
    let verifier = LibcryptoVerifier()
    try verifier.prepare()
    let demand = try ApprovalDemand(phones: [try alice.pin()], asked: [], verifier: verifier)
    let asked = try AskedApproval(demand, context: SignInContext(host: "desk-7"), origin: SigningPhone.origin)
    let approval = try alice.approval(of: asked, SigningPhone.Wrong(document: Digest.hexadecimal(head.digest)))
    let check = ApprovalCheck(asked: asked, session: "session-1")
    #expect(throws: ApprovalRefusal.document) { try check.verified(approval) }
  }
}
