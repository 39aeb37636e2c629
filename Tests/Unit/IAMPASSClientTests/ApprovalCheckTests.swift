import DeviceProtocol
import HostState
import HostSystem
import IAMPASSProtocol
import Testing

@testable import IAMPASSClient

/// One request that is asked of a trusted phone.
private struct Request {
  static let context = SignInContext(host: "desk-7", service: "sudo", user: "alice")

  let phone: SigningPhone
  let check: ApprovalCheck

  init(
    pins: [PinnedPhone]? = nil, asked methods: [AuthenticationMethod] = [],
    verifier: any SignatureVerifier = LibcryptoVerifier(), context: SignInContext = context
  ) throws {
    phone = try SigningPhone()
    let demand = try ApprovalDemand(phones: pins ?? [try phone.pin()], asked: methods, verifier: verifier)
    try verifier.prepare()
    check = ApprovalCheck(
      asked: try AskedApproval(demand, context: context, origin: SigningPhone.origin), session: "session-1")
  }

  func refusal(of json: JSON?) -> ApprovalRefusal? {
    do throws(ApprovalRefusal) {
      _ = try check.verified(json)
      return nil
    } catch { return error }
  }

  /// Why an approval with this wrong part is refused; nil if it is taken.
  func refusal(_ change: (inout SigningPhone.Wrong) throws -> Void) throws -> ApprovalRefusal? {
    var wrong = SigningPhone.Wrong()
    try change(&wrong)
    return refusal(of: try phone.approval(of: check.asked, wrong))
  }

  /// The same for a right approval with a member replaced, or taken out by nil.
  func refusal(with name: String, _ value: JSON?) throws -> ApprovalRefusal? {
    guard case .object(let members) = try phone.approval(of: check.asked) else { return nil }
    let changed = members.compactMap { member in
      member.name == name ? value.map { JSON.Member(name, $0) } : member
    }
    return refusal(of: .object(changed))
  }
}

@Suite struct ApprovalCheckTests {
  @Test func aRightApprovalByScreenLockIsVerified() throws {
    let request = try Request()
    let approval = try request.check.verified(try request.phone.approval(of: request.check.asked))
    #expect(approval.method == .device)
    #expect(approval.phone == (try request.phone.pin()))
  }

  @Test func aRightApprovalByTapIsVerifiedIfTheTapIsWhatIsAsked() throws {
    let request = try Request(asked: [.acceptance])
    #expect(
      try request.refusal {
        $0.method = .acceptance
        $0.hasAssertion = false
      } == nil)
  }

  @Test func nothingApprovesNothing() throws { #expect(try Request().refusal(of: nil) == .missing) }

  @Test func everyWrongPartOfTheStatementIsRefused() throws {
    let request = try Request()
    let other = try SigningPhone("phone-2")
    #expect(try request.refusal { $0.phone = "phone-2" } == .otherPhone)
    #expect(try request.refusal { $0.device = "phone-2" } == .otherPhone)
    #expect(
      try request.refusal {
        $0.phone = "phone-2"
        $0.device = "phone-2"
        $0.signer = other.key
      } == .otherPhone)
    #expect(try request.refusal { $0.signer = other.key } == .signature)
    #expect(try request.refusal { $0.answer = .deny } == .answer)
    #expect(try request.refusal { $0.answer = .notMe } == .answer)
    #expect(try request.refusal { $0.answer = .unable } == .answer)
    #expect(try request.refusal { $0.origin = "https://iam.example.evil" } == .origin)
    #expect(try request.refusal { $0.session = "session-2" } == .session)
    #expect(try request.refusal { $0.challenge = .some(nil) } == .challenge)
    #expect(try request.refusal { $0.challenge = .some(ApprovalChallenge.draw()) } == .challenge)
    let otherUser = ShownContext.hash(SignInContext(host: "desk-7", service: "sudo", user: "bob"))
    #expect(try request.refusal { $0.contextHash = otherUser } == .context)
    #expect(try request.refusal { $0.contextHash = "0" } == .context)
    #expect(try request.refusal { $0.code = "" } == .code)
    let next = try #require(Int(request.check.asked.code.exposedValue)) + 1
    #expect(try request.refusal { $0.code = String("0\(next % 100)".suffix(2)) } == .code)
  }

  /// The phone signs that it showed "no digits", and an empty code with it. Neither is taken without the other.
  @Test func noDigitsAreTakenOnlyForWhatWasAskedWithout() throws {
    var without = Request.context
    without.isWithoutCode = true
    let codeless = try Request(context: without)
    #expect(try codeless.refusal { _ in } == nil)
    #expect(try codeless.refusal { $0.code = "47" } == .code)
    #expect(try codeless.refusal { $0.contextHash = ShownContext.hash(Request.context) } == .context)
    let asked = try Request()
    #expect(try asked.refusal { $0.code = "" } == .code)
    #expect(
      try asked.refusal {
        $0.code = ""
        $0.contextHash = ShownContext.hash(without)
      } == .context)
  }

  @Test func aWeakerOrAnotherMethodIsRefused() throws {
    #expect(
      try Request().refusal {
        $0.method = .acceptance
        $0.hasAssertion = false
      } == .method)
    #expect(try Request().refusal { $0.method = .facial } == .method)
    #expect(try Request(asked: [.acceptance]).refusal { $0.method = .device } == .method)
  }

  @Test func everyWrongPartOfTheAssertionIsRefused() throws {
    let request = try Request()
    let other = try SigningPhone()
    #expect(try request.refusal { $0.hasAssertion = false } == .assertionMissing)
    #expect(try request.refusal { $0.lockSigner = other.lock } == .assertion(.signature))
    #expect(try request.refusal { $0.lockSigner = request.phone.key } == .assertion(.signature))
    #expect(try request.refusal { $0.type = "webauthn.create" } == .assertion(.type))
    #expect(try request.refusal { $0.assertedChallenge = [UInt8](repeating: 0, count: 32) } == .assertion(.challenge))
    #expect(try request.refusal { $0.crossOrigin = true } == .assertion(.origin))
    #expect(try request.refusal { $0.relyingParty = "iam.example.evil" } == .assertion(.relyingParty))
    #expect(try request.refusal { $0.flags = 0x04 } == .assertion(.userNotPresent))
    #expect(try request.refusal { $0.flags = 0x01 } == .assertion(.userNotVerified))
    #expect(try request.refusal { $0.moreAfterSignature = [0] } == .assertion(.signature))
  }

  @Test func aMalformedApprovalIsRefused() throws {
    let request = try Request()
    for name in ["phone", "statement", "signature"] {
      #expect(try request.refusal(with: name, nil) == .malformed, "without \(name)")
      #expect(try request.refusal(with: name, .integer(1)) == .malformed, "\(name) is a number")
    }
    #expect(try request.refusal(with: "assertion", .string("x")) == .malformed)
    #expect(request.refusal(of: .object([])) == .malformed)
    #expect(request.refusal(of: .string("approved")) == .malformed)
  }

  /// Phones of before sign neither method nor code, which the service takes for a tap without digits.
  @Test func whatWasNotSignedIsNotSupplied() throws {
    let request = try Request(asked: [.acceptance])
    var tap = SigningPhone.Wrong()
    tap.method = .acceptance
    tap.hasAssertion = false
    guard case .object(let members) = try request.phone.approval(of: request.check.asked, tap)["statement"] else {
      Issue.record("a statement is an object")
      return
    }
    for name in members.map(\.name) {
      let statement = JSON.object(members.filter { $0.name != name })
      let signature = try request.phone.key.signature(over: statement.canonicallyEncoded())
      let approval: JSON = .object([
        "phone": .string(request.phone.id), "statement": statement, "signature": .string(Base64.encode(signature)),
      ])
      let expected: ApprovalRefusal = name == "challenge" ? .challenge : .malformed
      #expect(request.refusal(of: approval) == expected, "without \(name)")
    }
  }

  @Test(arguments: [
    [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 64), [UInt8](repeating: 1, count: 63),
    [UInt8](repeating: 1, count: 65), [UInt8](repeating: 0, count: 32) + [UInt8](repeating: 1, count: 32),
    [UInt8](repeating: 1, count: 32) + [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0x30, count: 71), [],
  ])
  func aSignatureOutOfRangeOrOfAnotherLengthIsRefused(_ bytes: [UInt8]) throws {
    #expect(try Request().refusal(with: "signature", .string(Base64.encode(bytes))) == .malformed)
  }

  @Test func aTextWithAMemberTwiceIsNotRead() throws {
    let request = try Request()
    let text = String(decoding: try request.phone.approval(of: request.check.asked).encoded(), as: UTF8.self)
    let twice = text.replacing(#""phone":"#, with: #""phone":"phone-1","phone":"#)
    #expect(throws: JSONError.memberNamedTwice) { try JSON(parsing: Array(twice.utf8)) }
    #expect(throws: (any Error).self) { try JSON(parsing: Array(text.utf8.dropLast())) }
  }

  @Test func theApprovalOfAnEarlierRequestIsRefused() throws {
    let request = try Request()
    let demand = request.check.asked.demand
    let earlier = try AskedApproval(demand, context: Request.context, origin: SigningPhone.origin)
    #expect(request.refusal(of: try request.phone.approval(of: earlier)) == .challenge)
  }

  @Test func eitherOfTwoTrustedPhonesSignsByItsOwnStrongestMethod() throws {
    let locked = try SigningPhone("phone-1")
    let plain = try SigningPhone("phone-2")
    let demand = try ApprovalDemand(
      phones: [try locked.pin(), try plain.pin(lock: false)], asked: [], verifier: LibcryptoVerifier())
    try demand.verifier.prepare()
    #expect(demand.methods == [.device, .acceptance])
    let asked = try AskedApproval(demand, context: Request.context, origin: SigningPhone.origin)
    let check = ApprovalCheck(asked: asked, session: "session-1")
    var tap = SigningPhone.Wrong()
    tap.method = .acceptance
    tap.hasAssertion = false
    #expect(try check.verified(try plain.approval(of: asked, tap)).method == .acceptance)
    #expect(try check.verified(try locked.approval(of: asked)).method == .device)
    #expect(throws: ApprovalRefusal.method) { try check.verified(try locked.approval(of: asked, tap)) }
    #expect(throws: ApprovalRefusal.method) { try check.verified(try plain.approval(of: asked)) }
  }

  @Test func withoutAVerifierNothingIsApproved() throws {
    struct Broken: SignatureVerifier {
      func prepare() throws(VerifierError) {}
      func verifies(
        _ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey
      ) throws(VerifierError) -> Bool { throw VerifierError("broken") }
    }
    let request = try Request(verifier: Broken())
    #expect(
      request.refusal(of: try request.phone.approval(of: request.check.asked))
        == .unverifiable(VerifierError("broken")))
  }
}
