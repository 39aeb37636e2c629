import DeviceProtocol
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import LoginModule
import Testing
import WorkerLink

/// As if the folder of the codes broke after the first.
private final class OneCode: MatchCodes {
  private var isDrawn = false

  func draw() throws(ServiceError) -> Secret {
    if isDrawn { throw .codesNotKept }
    isDrawn = true
    return Secret("17")
  }
}

@Suite struct VerifiedLoginTests {
  private let clock = ScriptedClock()
  private let limit = ScriptedLimit()

  private func outcome(
    _ service: ServiceWithPhone, trust: (any ApprovalTrust)? = nil, ssh: Bool = false,
    terminal: ScriptedTerminal? = nil, sendsContext: Bool = true, codes: (any MatchCodes)? = nil,
    isWithoutCode: Bool = false
  ) throws -> LoginOutcome {
    var request = LoginRequest(
      user: try #require(UnixUsername(validating: "alice")), service: ssh ? "sshd" : "sudo", tty: "/dev/pts/1",
      remoteUser: "alice", callingUID: 1_000, hostName: "desk-7")
    if ssh { request.remoteHost = "192.0.2.1" }
    request.isWithoutCode = isWithoutCode
    let policy = LoginPolicy(
      prompt: .auto, methods: [], timeout: 30, sessionDuration: 43_200, sendsContext: sendsContext, mustWatch: false)
    let settings = ServiceSettings(
      server: try ServerURL("https://iam.example"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let client = try AuthenticationClient(
      settings: settings,
      credential: ServiceCredential(applicationID: "app", secret: Secret("yNGfB51YbmwxAscRuzOl8G5U")),
      transport: service, unixTime: { 1_700_000_000 })
    if let codes { client.codes = codes }
    return LoginAttempt(
      request: request, policy: policy, tokens: ScriptedTokens(),
      trust: try trust ?? ScriptedTrust(phones: [try service.pin()]), service: ClientService(client: client),
      conversation: terminal ?? ScriptedTerminal(clock: clock), limit: limit, recorder: ScriptedRecorder(),
      clock: clock
    ).run()
  }

  private func refusal(
    _ service: ServiceWithPhone, trust: (any ApprovalTrust)? = nil, ssh: Bool = false,
    terminal: ScriptedTerminal? = nil, sendsContext: Bool = true, codes: (any MatchCodes)? = nil
  ) throws -> Refusal? {
    let outcome = try outcome(
      service, trust: trust, ssh: ssh, terminal: terminal, sendsContext: sendsContext, codes: codes)
    if case .refused(let refusal) = outcome { return refusal }
    return nil
  }

  /// The same for a list of phones that becomes `later` while the phone is asked.
  private func refusal(_ service: ServiceWithPhone, changing later: ScriptedTrust) throws -> Refusal? {
    let trust = ChangingTrust(ScriptedTrust(phones: [try service.pin()]))
    service.whileThePhoneIsAsked = { trust.current = later }
    return try refusal(service, trust: trust)
  }

  @Test func approvesWhatATrustedPhoneSigned() throws {
    let service = try ServiceWithPhone(.good)
    let terminal = ScriptedTerminal(clock: clock)
    guard case .approved(let signIn) = try outcome(service, terminal: terminal) else {
      Issue.record("not approved")
      return
    }
    #expect(signIn.session.approval?.phone.id == "phone-1")
    let start = try #require(service.starts.first)
    #expect(start.context?.host == "desk-7")
    // The code is the computer's own, and the strongest method that the phone has is asked for.
    #expect(terminal.shown.first == "Approve the sign-in on your phone: code \(start.matchCode?.exposedValue ?? "")")
    #expect(service.queries.first?.contains("methods=acceptance") == true)
    #expect(!service.hasEnded)
  }

  @Test func aProgramThatShowsNothingAsksWithoutACode() throws {
    let service = try ServiceWithPhone(.good)
    let terminal = ScriptedTerminal(clock: clock)
    guard case .approved = try outcome(service, terminal: terminal, isWithoutCode: true) else {
      Issue.record("not approved")
      return
    }
    let start = try #require(service.starts.first)
    #expect(start.matchCode == nil && start.context?.isWithoutCode == true && start.challenge != nil)
    #expect(terminal.shown == ["Approve the sign-in on your phone"])
  }

  @Test func aServiceThatDrawsACodeThatNothingShowsIsCancelled() throws {
    for manner in [.knowsNoChallenges, .drawsAnotherCode] as [ServiceWithPhone.Manner] {
      let service = try ServiceWithPhone(manner)
      guard case .refused(let refusal) = try outcome(service, isWithoutCode: true) else {
        Issue.record("not refused")
        return
      }
      #expect(refusal == .notStarted(reason: "CODE_REQUIRED"))
      #expect(refusal.message(passwordFollows: true)?.contains("digits, which this program cannot show") == true)
      #expect(service.hasEnded)
    }
    // It may have rung, and counts.
    #expect(limit.count == 2)
  }

  @Test func refusesAndEndsWhatNobodySigned() throws {
    for (manner, refusal) in [(.keepsTheApproval, .missing), (.asksAboutAnother, .session)]
      as [(ServiceWithPhone.Manner, ApprovalRefusal)]
    {
      let service = try ServiceWithPhone(manner)
      #expect(try self.refusal(service) == .unavailable(.approvalNotVerified(refusal)))
      #expect(service.hasEnded)
    }
  }

  @Test func refusesAnotherPhone() throws {
    let service = try ServiceWithPhone(.good)
    let trust = ScriptedTrust(phones: [try ServiceWithPhone(.good).pin()])
    #expect(try refusal(service, trust: trust) == .unavailable(.approvalNotVerified(.signature)))
  }

  @Test func aServiceThatRepeatsNothingIsCancelled() throws {
    for manner in [.knowsNoChallenges, .drawsAnotherCode, .namesNoSession] as [ServiceWithPhone.Manner] {
      let service = try ServiceWithPhone(manner)
      #expect(try refusal(service) == .notVerifiable)
      #expect(service.hasEnded)
    }
  }

  @Test func drawsAnotherCodeIfOneIsInUse() throws {
    let service = try ServiceWithPhone(.hasTheCode(times: 2))
    #expect(try refusal(service) == nil)
    #expect(service.starts.count == 3)
    #expect(Set(service.starts.map { $0.challenge?.text }).count == 3)
  }

  @Test func keepsItsCodeWhileAnotherRequestIsOpen() throws {
    let service = try ServiceWithPhone(.isBusy(times: 3))
    #expect(try refusal(service) == nil)
    #expect(service.starts.count == 4)
    #expect(Set(service.starts.map(\.matchCode)).count == 1)
  }

  @Test func givesUpIfEveryCodeIsInUse() throws {
    let service = try ServiceWithPhone(.hasTheCode(times: 1_000))
    #expect(try refusal(service) == .notStarted(reason: "CODE_IN_USE"))
    #expect(service.starts.count == 3)
    #expect(limit.count == 1)
  }

  /// A broken service must not have code after code drawn until one is what another terminal shows.
  @Test(arguments: ["NO_MOBILE_DEVICE", "SOURCE_BLOCKED", "REQUEST_PENDING", "TOO_MANY_REQUESTS", "A_NEW_WORD"])
  func aCodeThatTheServiceHasReadCountsWhateverRefusesIt(_ reason: String) throws {
    #expect(try refusal(ServiceWithPhone(.refuses(reason: reason))) != nil)
    #expect(limit.count == 1)
  }

  @Test(arguments: [401, 404, 302, 429, 503])
  func aCodeThatTheServiceHasReadCountsWhateverStatusItSends(_ status: Int) throws {
    #expect(try refusal(ServiceWithPhone(.answers(status: status))) != nil)
    #expect(limit.count == 1)
  }

  @Test(arguments: ["CODE_IN_USE", "REQUEST_PENDING"])
  func aCodeThatTheServiceHasReadCountsWhateverBecomesOfALaterStart(_ reason: String) throws {
    let service = try ServiceWithPhone(.goes(after: 1, reason: reason))
    #expect(try refusal(service) == .unavailable(.transport(TransportError(.connectionRefused))))
    #expect(service.starts.count == 2)
    #expect(limit.count == 1)
  }

  @Test func aCodeThatTheServiceHasReadCountsIfNoOtherCanBeDrawn() throws {
    let service = try ServiceWithPhone(.hasTheCode(times: 1))
    #expect(try refusal(service, codes: OneCode()) == .unavailable(.codesNotKept))
    #expect(service.starts.count == 1)
    #expect(limit.count == 1)
  }

  @Test func aStartThatCannotHaveArrivedDoesNotCount() throws {
    let service = try ServiceWithPhone(.goes(after: 0, reason: ""))
    #expect(try refusal(service) == .unavailable(.transport(TransportError(.connectionRefused))))
    #expect(limit.count == 0)
  }

  @Test func aUserWithoutATrustedPhoneIsNotRung() throws {
    let service = try ServiceWithPhone(.good)
    #expect(try refusal(service, trust: ScriptedTrust()) == .phoneNotTrusted(.noPhone))
    #expect(service.starts.isEmpty)
    #expect(limit.count == 0)
  }

  /// A user who lacks a screen lock can add one. What no computer can verify is the administrator's to change.
  @Test func theLineNamesTheMethodThatIsLacking() throws {
    func line(_ asked: [AuthenticationMethod]) -> String {
      Refusal.phoneNotTrusted(.noMethod(asked)).message(passwordFollows: false) ?? ""
    }
    #expect(line([.device]).contains("your phone has no screen lock registered"))
    #expect(line([.device, .facial]).contains("your phone has no screen lock registered"))
    #expect(line([.facial]).contains("this computer cannot verify a face, which is asked for"))
    #expect(!line([.facial]).contains("screen lock"))
  }

  @Test func sshAsksItsQuestionAllTheSame() throws {
    let service = try ServiceWithPhone(.good)
    let terminal = ScriptedTerminal(answers: [""], clock: clock)
    #expect(try refusal(service, trust: ScriptedTrust(), ssh: true, terminal: terminal) == .phoneNotTrusted(.noPhone))
    #expect(terminal.asked.count == 1)
    #expect(service.starts.isEmpty)
  }

  @Test func aBrokenFileRefusesAndRingsNobody() throws {
    let service = try ServiceWithPhone(.good)
    let trust = ScriptedTrust(error: .file(.badLine(3), path: "/etc/iampass/phones"))
    #expect(
      try refusal(service, trust: trust) == .misconfigured(.phones(.badLine(3), path: "/etc/iampass/phones")))
    #expect(service.starts.isEmpty)
  }

  @Test func nothingIsAskedWithoutTheContext() throws {
    let service = try ServiceWithPhone(.good)
    #expect(try refusal(service, sendsContext: false) == .misconfigured(.verifiedWithoutContext))
    #expect(service.starts.isEmpty)
  }

  @Test func aPhoneThatIsForgottenWhileItIsAskedSignsNobodyIn() throws {
    let service = try ServiceWithPhone(.good)
    let pin = try service.pin()
    let other = try ServiceWithPhone(.good).pin()
    let otherKey = try #require(
      PinnedPhone(id: pin.id, key: other.key, credential: nil, since: pin.since, name: pin.name))
    let credential = try #require(PinnedPhone.Credential(id: "AAAA", key: other.key))
    let withLock = try #require(
      PinnedPhone(id: pin.id, key: pin.key, credential: credential, since: pin.since, name: pin.name))
    for later in [[], [other], [otherKey], [withLock]] {
      #expect(try refusal(service, changing: ScriptedTrust(phones: later)) == .phoneForgotten)
      #expect(service.hasEnded)
    }
  }

  @Test func aFileOfPhonesThatBreaksWhileThePhoneIsAskedRefuses() throws {
    let service = try ServiceWithPhone(.good)
    let broken = ScriptedTrust(error: .file(.badLine(3), path: "/etc/iampass/phones"))
    #expect(
      try refusal(service, changing: broken) == .misconfigured(.phones(.badLine(3), path: "/etc/iampass/phones")))
    #expect(service.hasEnded)
  }

  @Test func anotherNameOrAnotherPhoneBesideItDoesNotMatter() throws {
    let service = try ServiceWithPhone(.good)
    let pin = try service.pin()
    let renamed = try #require(
      PinnedPhone(id: pin.id, key: pin.key, credential: nil, since: pin.since + 1, name: "Alice's other name"))
    let beside = try #require(
      PinnedPhone(id: "phone-2", key: try ServiceWithPhone(.good).pin().key, credential: nil, since: 1, name: ""))
    #expect(try refusal(service, changing: ScriptedTrust(phones: [beside, renamed])) == nil)
    #expect(!service.hasEnded)
  }

  @Test func aComputerThatCannotCheckSignaturesRingsNobody() throws {
    struct Broken: SignatureVerifier {
      func prepare() throws(VerifierError) { throw VerifierError("libcrypto.so.3: not there") }
      func verifies(
        _ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey
      ) throws(VerifierError) -> Bool { true }
    }
    for ssh in [false, true] {
      let service = try ServiceWithPhone(.good)
      let trust = ScriptedTrust(phones: [try service.pin()], verifier: Broken())
      let terminal = ScriptedTerminal(answers: ssh ? [""] : [], clock: clock)
      #expect(
        try refusal(service, trust: trust, ssh: ssh, terminal: terminal)
          == .cannotVerify(VerifierError("libcrypto.so.3: not there")))
      #expect(service.starts.isEmpty)
      #expect(limit.count == 0)
    }
  }
}
