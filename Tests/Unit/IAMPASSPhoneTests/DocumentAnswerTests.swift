import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol
import Testing

@Suite struct DocumentAnswerTests {
  /// Decides as its script says, and keeps what it was shown.
  private final class Administrator: PhoneUser, DocumentStorage {
    let decision: PhoneDecision?
    private(set) var memory: DocumentMemory
    private(set) var kept: [DocumentMemory] = []
    private(set) var reviews: [DocumentReview] = []
    private(set) var heard: [AnswerOutcome] = []

    init(_ decision: PhoneDecision?, _ memory: DocumentMemory) {
      self.decision = decision
      self.memory = memory
    }

    func decision(on request: OpenRequest) -> PhoneDecision? {
      Issue.record("a document is not asked for as a sign-in")
      return nil
    }

    func decision(on request: OpenRequest, _ review: DocumentReview) -> PhoneDecision? {
      reviews.append(review)
      return decision
    }

    func hear(_ event: WatchEvent) { if case .answered(_, let outcome) = event { heard.append(outcome) } }
    func pause(milliseconds: Int64) {}
    func documentMemory() -> DocumentMemory { memory }

    func keep(_ memory: DocumentMemory) {
      self.memory = memory
      kept.append(memory)
    }
  }

  /// A phone of an app that knows no documents.
  private final class Stranger: PhoneUser {
    func decision(on request: OpenRequest) -> PhoneDecision? { .approve() }
    func hear(_ event: WatchEvent) {}
    func pause(milliseconds: Int64) {}
  }

  private func settle(
    _ name: String, _ decision: PhoneDecision?, then steps: [ScriptedService.Step] = [ScriptedService.done]
  ) throws -> (Administrator, ScriptedService, DocumentVectors.Case) {
    let one = try DocumentVectors.named(name)
    let service = ScriptedService(DocumentVectors.pages(one.pages) + steps)
    let user = Administrator(decision, try one.memory())
    let watch = RequestWatch(phone: try DocumentVectors.phone(service), user: user, documents: user)
    #expect(try watch.settle(try one.request()) == .over)
    return (user, service, one)
  }

  private func answer(_ service: ScriptedService) throws -> AnswerStatement {
    try AnswerStatement(UnverifiedStatement(parsing: try #require(service.asked.last).body).statement)
  }

  @Test func anApprovalSignsTheDigestOfWhatWasShown() throws {
    let (user, service, one) = try settle("one change of each kind", .approve())
    let statement = try answer(service)
    #expect(service.isFinished)
    #expect(statement.answer == .approve)
    #expect(statement.document == one.json["digest"]?.string)
    #expect(user.kept == [try one.remembered("memory_once_signed")])
  }

  @Test func aDenialSignsNoDocumentAndIsNotRemembered() throws {
    let (user, service, _) = try settle("one change of each kind", .deny)
    let statement = try answer(service)
    #expect(statement.answer == .deny)
    #expect(statement.document == nil)
    #expect(user.kept.isEmpty)
  }

  @Test func anApprovalOfAMisfitIsNotSent() throws {
    let one = try DocumentVectors.named("another name on the pages")
    let service = ScriptedService(DocumentVectors.pages(one.pages))
    let user = Administrator(.approve(), try one.memory())
    let watch = RequestWatch(phone: try DocumentVectors.phone(service), user: user, documents: user)
    #expect(throws: PhoneError.documentNotShown) { try watch.settle(try one.request()) }
    #expect(user.reviews == [.misfit(.otherUsers)])
    #expect(user.kept.isEmpty)
    #expect(service.asked.count == one.pages.count)
  }

  @Test func aRequestThatHasEndedIsTooLate() throws {
    let one = try DocumentVectors.named("the first list")
    let service = ScriptedService([ScriptedService.refusal(404, "UNKNOWN_REQUEST")])
    let user = Administrator(.approve(), try one.memory())
    let watch = RequestWatch(phone: try DocumentVectors.phone(service), user: user, documents: user)
    #expect(try watch.settle(try one.request()) == .over)
    #expect(user.heard == [.tooLate])
  }

  @Test func anAppWithoutDocumentsSaysThatItCannotSign() throws {
    let one = try DocumentVectors.named("the first list")
    let service = ScriptedService([ScriptedService.done])
    let watch = RequestWatch(phone: try DocumentVectors.phone(service), user: Stranger())
    #expect(try watch.settle(try one.request()) == .over)
    #expect(try answer(service).answer == .unable)
  }

  @Test(arguments: ["a document without its member", "a sign-in with a document", "the first list"])
  func aDocumentIsNotApprovedAsASignIn(name: String) throws {
    let service = ScriptedService([])
    let request = try DocumentVectors.named(name).request()
    #expect(throws: PhoneError.documentNotShown) {
      try DocumentVectors.phone(service).answer(request, with: .approve())
    }
    #expect(service.asked.isEmpty)
  }

  @Test func aDocumentIsNotSignedForAnotherRequest() throws {
    let one = try DocumentVectors.named("one change of each kind")
    let phone = try DocumentVectors.phone(ScriptedService(DocumentVectors.pages(one.pages)))
    guard case .fits(let document) = try phone.review(try one.request(), remembering: try one.memory()) else {
      Issue.record("it does not fit")
      return
    }
    let signIn = OpenRequest(
      session: "s", nonce: "n", expires: 1, secondsLeft: 60, context: SignInContext(host: "web-1"),
      challenge: document.document.challenge)
    for other in [signIn, try DocumentVectors.named("the first list").request()] {
      #expect(throws: PhoneError.documentNotShown) { try phone.answer(other, with: .approve(), showing: document) }
    }
  }

  /// What a service gets that asks for a document's challenge as a sign-in: no computer takes it.
  @Test func aSignInWithADocumentsChallengeSignsNoDocument() throws {
    let service = ScriptedService([ScriptedService.done])
    let document = try DocumentVectors.named("the first list").request()
    let request = OpenRequest(
      session: "s", nonce: "n", expires: 1, secondsLeft: 60, context: SignInContext(host: "web-1"),
      challenge: document.challenge)
    #expect(try DocumentVectors.phone(service).answer(request, with: .approve()) == .taken)
    let statement = try answer(service)
    #expect(statement.document == nil)
    #expect(statement.contextHash != ShownContext.hash(document.context))
  }

  @Test func theMemoryIsKeptWithTheAccount() throws {
    let memory = try DocumentVectors.named("one change of each kind").memory()
    let key = try DeviceKey.generate()
    let account = PhoneAccount(
      server: try ServerURL("https://iampass.test"), device: "d", key: key, application: "office", user: "Alice",
      authority: nil, documents: memory)
    #expect(PhoneAccount(parsing: try account.encoded(with: key))?.documents == memory)
  }

  @Test func aBrokenMemoryIsABrokenAccount() throws {
    let key = try DeviceKey.generate()
    let account = PhoneAccount(
      server: try ServerURL("https://iampass.test"), device: "d", key: key, application: "office", user: "Alice",
      authority: nil)
    let text = String(decoding: try account.encoded(with: key), as: UTF8.self)
    let broken = String(text.dropLast()) + #","documents":{"set":1}}"#
    #expect(PhoneAccount(parsing: Array(broken.utf8)) == nil)
  }
}
