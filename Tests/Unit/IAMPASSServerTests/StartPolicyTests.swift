import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Each ending of a start, without HTTP and without a database.
@Suite struct StartPolicyTests {
  private static let now = UnixTime(seconds: 1_800_000_000)
  private static let application = Application(id: "shop", name: "shop", secret: Secret("0123456789abcdef01234567"))

  private func ask(
    methods: [AuthenticationMethod] = AuthenticationMethod.allCases, duration: Int64 = 3_600, from: String = "desk",
    hasContext: Bool = true, matchCode: Secret? = nil
  ) -> SessionStartRequest {
    SessionStartRequest(
      user: "alice", signInClient: SignInClient(application: Self.application, credential: nil), client: .unknown,
      methods: methods, duration: duration, context: SignInContext(host: from), hasContext: hasContext, challenge: nil,
      matchCode: matchCode, boot: nil)
  }

  private struct Stored {
    var isClientUsable = true
    var isComputerHeld = false
    var settings = ApplicationSettings()
    var hasUser = true
    var methods: [AuthenticationMethod]? = [.acceptance]
    /// The second phone's; nil if there is none.
    var secondMethods: [AuthenticationMethod]?
    var isRung = true
    var isSourceBlocked = false
    var hasTooManyDenials = false
    var unended: [Session] = []
    var freeCode: Secret? = Secret("47")
    var isCodeInUse = false

    var facts: StartFacts {
      let user = StartFacts.AskedUser(
        id: 7,
        phones: [("phone", methods), ("second", secondMethods)].compactMap { id, methods in
          methods.map {
            StartFacts.AskedPhone(id: id, methods: $0, addable: [.device], isRung: isRung && id == "phone")
          }
        },
        isSourceBlocked: isSourceBlocked, hasTooManyDenials: hasTooManyDenials, unended: unended, freeCode: freeCode,
        isCodeInUse: isCodeInUse)
      return StartFacts(
        isClientUsable: isClientUsable, settings: settings, isComputerHeld: isComputerHeld, user: hasUser ? user : nil
      )
    }
  }

  private func decide(
    _ ask: SessionStartRequest? = nil, _ change: (inout Stored) throws -> Void = { _ in }
  ) rethrows -> StartPolicy.Decision {
    var stored = Stored()
    try change(&stored)
    return StartPolicy.decide(ask ?? self.ask(), stored.facts, at: Self.now)
  }

  private func terms(_ decision: StartPolicy.Decision) throws -> StartTerms {
    guard case .start(let terms) = decision else { throw NotDecided(decision: "\(decision)") }
    return terms
  }

  private func reason(_ decision: StartPolicy.Decision) throws -> Reason {
    guard case .refuse(.reason(let reason)) = decision else { throw NotDecided(decision: "\(decision)") }
    return reason
  }

  private struct NotDecided: Error { let decision: String }

  /// A request that waits for its answer since `age` seconds.
  private func open(_ ask: SessionStartRequest, age: Int64 = 1) throws -> Session {
    let terms = try terms(decide(ask))
    return try Session(ask, terms, at: Self.now.advanced(seconds: -age))
  }

  @Test func startsWithWhatIsAskedForAndAllowed() throws {
    #expect(
      try terms(decide())
        == StartTerms(
          user: 7, method: .acceptance, duration: 3_600, answerTime: 60, matchCode: Secret("47"), isRung: true))
  }

  @Test func eachOfTwoPhonesMustProveTheStrongestMethodThatItHas() throws {
    let both = try terms(
      decide {
        $0.methods = [.acceptance]
        $0.secondMethods = [.acceptance, .device]
      })
    #expect(both.asked == ["phone": .acceptance, "second": .device])
    #expect(both.method == .device)
    #expect(try terms(decide()).asked == nil)
  }

  @Test func aPhoneThatHasNoneOfTheMethodsIsNotAsked() throws {
    let strict = try terms(
      decide(ask(methods: [.device])) {
        $0.methods = [.acceptance]
        $0.secondMethods = [.acceptance, .device]
      })
    #expect(strict.asked == ["second": .device])
    #expect(!strict.isRung)
  }

  @Test func takesTheStrongestMethodThatIsAskedForAndThatThePhoneHas() throws {
    #expect(try terms(decide { $0.methods = [.acceptance, .device] }).method == .device)
    #expect(
      try terms(decide(ask(methods: [.acceptance])) { $0.methods = [.acceptance, .device] }).method == .acceptance)
    #expect(try terms(decide(ask(methods: [.device, .acceptance]))).method == .acceptance)
  }

  @Test func theApplicationsGreatestLengthAndAnswerTimeHold() throws {
    let terms = try terms(
      decide(ask(duration: 90_000)) {
        $0.settings.greatestDuration = 600
        $0.settings.answerTime = 20
      })
    #expect(terms.duration == 600)
    #expect(terms.answerTime == 20)
  }

  @Test func aPhoneThatCannotBeRungIsSaid() throws {
    #expect(try !terms(decide { $0.isRung = false }).isRung)
  }

  @Test func refusesARevokedCredentialBeforeAllElse() throws {
    let decision = decide {
      $0.isClientUsable = false
      $0.settings.isDisabled = true
      $0.hasUser = false
    }
    guard case .refuse(.credentialRevoked) = decision else { throw NotDecided(decision: "\(decision)") }
  }

  @Test func refusesForADisabledApplicationWhoeverIsAsked() throws {
    #expect(
      try reason(
        decide {
          $0.settings.isDisabled = true
          $0.hasUser = false
        }) == .applicationDisabled)
  }

  @Test func refusesAnUnknownUser() throws {
    let decision = decide { $0.hasUser = false }
    guard case .refuse(.unknownUser) = decision else { throw NotDecided(decision: "\(decision)") }
  }

  @Test func refusesAUserWithoutAPhone() throws {
    #expect(try reason(decide { $0.methods = nil }) == .noMobileDevice)
  }

  @Test func refusesAMethodThatThePhoneDoesNotHave() throws {
    for asked in [[.device], [.device, .facial]] as [[AuthenticationMethod]] {
      guard case .refuse(.missingMethods(let missing, user: 7)) = try decide(ask(methods: asked)) else {
        throw NotDecided(decision: "\(asked)")
      }
      #expect(missing.first?.phone == "phone" && missing.first?.methods == [.device])
    }
    #expect(try reason(decide(ask(methods: [.facial]))) == .methodNotAvailable)
    #expect(try reason(decide(ask(methods: [.facial])) { $0.methods = [.acceptance, .device] }) == .methodNotAvailable)
  }

  @Test func refusesWithoutContextOnlyIfCodesAreRequired() throws {
    let ask = ask(hasContext: false)
    #expect(try reason(decide(ask) { $0.settings.matchCodes = .required }) == .contextRequired)
    #expect(try terms(decide(ask)).matchCode == nil)
    #expect(try terms(decide { $0.settings.matchCodes = .required }).matchCode == Secret("47"))
  }

  @Test func refusesABlockedSource() throws {
    #expect(try reason(decide { $0.isSourceBlocked = true }) == .sourceBlocked)
  }

  @Test func refusesAfterTooManyDenials() throws {
    #expect(try reason(decide { $0.hasTooManyDenials = true }) == .tooManyDenials)
  }

  /// The computer's line says when the next request is taken.
  @Test func theLineAboutTooManyDenialsNamesThePause() throws {
    let text = try #require(ReasonWord.text(of: Reason.tooManyDenials.rawValue))
    #expect(text.hasSuffix("\(Denials.pause / 60) minutes after the last one"))
  }

  @Test func holdsBackASecondRequestFromTheSameSource() throws {
    let first = try open(ask())
    guard case .refuse(.openRequest(let open, user: 7)) = decide(ask(), { $0.unended = [first] }) else {
      _ = Issue.record("not held back")
      return
    }
    #expect(open.id == first.id)
    #expect(throws: Never.self) { try terms(decide(ask(from: "laptop")) { $0.unended = [first] }) }
  }

  @Test func aRequestWhoseTimeIsOverHoldsNothingBack() throws {
    let first = try open(ask(), age: 60)
    #expect(throws: Never.self) { try terms(decide { $0.unended = [first] }) }
  }

  @Test func refusesIfNoCodeIsFree() throws {
    #expect(try reason(decide { $0.freeCode = nil }) == .tooManyRequests)
  }

  @Test func theComputersCodeIsAskedForWhateverTheApplicationWants() throws {
    for setting in [MatchCodes.off, .on, .required] {
      #expect(
        try terms(decide(ask(matchCode: Secret("47"))) { $0.settings.matchCodes = setting }).matchCode == Secret("47"))
    }
  }

  @Test func theComputersCodeThatIsInUseIsRefused() throws {
    let decision = decide(ask(matchCode: Secret("47"))) {
      $0.freeCode = nil
      $0.isCodeInUse = true
      $0.settings.matchCodes = .off
    }
    #expect(try reason(decision) == .codeInUse)
  }

  @Test func needsNoCodeIfCodesAreOff() throws {
    let terms = try terms(
      decide {
        $0.settings.matchCodes = .off
        $0.freeCode = nil
      })
    #expect(terms.matchCode == nil)
  }
}
