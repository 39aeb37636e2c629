import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

/// A second sudo or ssh connection while the phone still has the first one's request.
@Suite struct OwnRequestTests {
  private let busy = ScriptedTransport.Step.start(
    200, #"{"authentication_status":{"authenticated":false,"reason":"REQUEST_PENDING"}}"#)
  private let approving: [ScriptedTransport.Step] = [
    .start(202, ScriptedTransport.started), .status(200, ScriptedTransport.word("active")),
  ]

  @Test func waitsForTheFirstOnesEnd() throws {
    let scene = try SignInFixture([busy, busy, busy] + approving)
    #expect(try scene.isApproved())
    #expect(
      scene.terminal.shown == [
        "Your phone has another request of yours; this one waits until that has ended",
        "Approve the sign-in on your phone",
      ])
    #expect(scene.clock.now() == MonotonicInstant(nanoseconds: 3_000_000_000))
    #expect(scene.limit.count == 0)
  }

  @Test func waitsNoLongerThanItsOwnTime() throws {
    var scene = try SignInFixture([ScriptedTransport.Step](repeating: busy, count: 7))
    scene.policy.timeout = 10
    #expect(try scene.refusal() == .notStarted(reason: "REQUEST_PENDING"))
    #expect(scene.clock.now() < MonotonicInstant(nanoseconds: 10_000_000_000))
    #expect(scene.limit.count == 0)
  }

  @Test func theTimeOfBothIsOne() throws {
    let pending = ScriptedTransport.Step.heldStatus(milliseconds: 2_000, ScriptedTransport.word("pending"))
    var scene = try SignInFixture(
      [busy, busy, busy, .start(202, ScriptedTransport.started), pending, pending, pending, pending, .logout])
    scene.policy.timeout = 10
    #expect(try scene.refusal() == .notAnswered)
    #expect(scene.clock.now() <= MonotonicInstant(nanoseconds: 11_000_000_000))
  }

  @Test func isInterruptedWhileItWaits() throws {
    let scene = try SignInFixture([busy, busy])
    scene.clock.interruptedPause = 2
    #expect(try scene.refusal() == .interrupted)
    // The phone did not ring for it.
    #expect(scene.limit.count == 0)
  }

  @Test func anSSHConnectionWaitsItsTurn() throws {
    var scene = try SignInFixture([busy, busy] + approving)
    scene.request.service = "sshd"
    scene.request.remoteUser = nil
    scene.request.remoteHost = "192.0.2.1"
    scene.policy.prompt = .push
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown.first == Refusal.waitsForOwn)
    #expect(scene.clock.now() == MonotonicInstant(nanoseconds: 2_000_000_000))
  }

  /// A stranger's request must not ring as soon as the phone is free again.
  @Test(arguments: ["tty", "remoteUser", "remoteHost"])
  func nobodyElsesRequestWaits(_ missing: String) throws {
    var scene = try SignInFixture([busy])
    scene.policy.prompt = .push
    switch missing {
    case "tty": scene.request.tty = nil
    case "remoteUser": scene.request.remoteUser = "mallory"
    default: scene.request.remoteHost = "192.0.2.1"
    }
    #expect(try scene.refusal() == .notStarted(reason: "REQUEST_PENDING"))
  }
}

/// What the terminal says: plain words for each kind of fault.
@Suite struct MessageTests {
  private func message(_ error: ServiceError) -> String {
    Refusal.unavailable(error).message(passwordFollows: true) ?? ""
  }

  @Test(arguments: [
    Refusal.notStarted(reason: "REQUEST_PENDING"), .notStarted(reason: "A_WORD_OF_TOMORROW"), .notStarted(reason: nil),
    .endedWhileWaiting(.failed, reason: "METHOD_NOT_AVAILABLE"), .endedWhileWaiting(.closed, reason: "ENDED_ON_PHONE"),
    .endedWhileWaiting(.unknown("SOME_STATUS"), reason: nil), .endedWhileWaiting(.failed, reason: "A_WORD_OF_TOMORROW"),
    .unavailable(.badReply(.refused(reason: "A_WORD_OF_TOMORROW"))),
    .unavailable(.badReply(.refused(reason: "UNKNOWN_USER"))),
  ])
  func noWordOfTheWireReachesATerminal(_ refusal: Refusal) throws {
    let message = try #require(refusal.message(passwordFollows: true))
    #expect(message.firstMatch(of: /[A-Z]+_[A-Z]/) == nil, "\(message)")
    #expect(message.hasPrefix("IAMPASS: ") && message.hasSuffix(". Use your password."), "\(message)")
  }

  private static let refusals: [Refusal] = [
    .notAnswered, .answeredByNobody, .endedWhileWaiting(.failed, reason: nil), .noPhone, .notStarted(reason: nil),
    .commandNotRead, .commandTooLong, .tooManyRequests(secondsLeft: 1), .limiterBroken(FileError(.missing, path: "/p")),
    .unavailable(.notFound), .recordNotKept(.notYours), .notRecordable(.unknownProcess),
    .misconfigured(.plainServerNotSigned),
  ]

  @Test(arguments: refusals)
  func onlyAPasswordThatFollowsIsSpokenOf(_ refusal: Refusal) throws {
    let alone = try #require(refusal.message(passwordFollows: false))
    #expect(!alone.contains("password"))
    #expect(refusal.message(passwordFollows: true) == alone + ". Use your password.")
  }

  /// The shipped profiles end the attempt there.
  @Test(arguments: [Refusal.denied, .interrupted, .userChanged, .textAtSecondFactor])
  func anEndingThatLeadsToNoPromptSpeaksOfNoPassword(_ refusal: Refusal) throws {
    #expect(try !#require(refusal.message(passwordFollows: true)).contains("password"))
  }

  @Test func theLogHasTheWord() {
    #expect(Refusal.notStarted(reason: "REQUEST_PENDING").explanation.contains("REQUEST_PENDING"))
    #expect(Refusal.endedWhileWaiting(.failed, reason: "A_WORD").explanation.contains("A_WORD"))
    #expect(Refusal.unavailable(.badReply(.refused(reason: "A_WORD"))).explanation.contains("A_WORD"))
  }

  /// Different people mend a wrong secret, a wrong clock, a broken worker and a network.
  @Test func onlyTheNetworkIsNotReachable() {
    let others: [ServiceError] = [
      .notAccepted(status: 401), .clockDiffers(minutes: 7), .notFound, .tooManyRequests(retryAfter: nil),
      .serverFailed(status: 503), .redirected(status: 302), .unexpectedStatus(418), .badReply(.member("x")),
      .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .foreignAddress, .badSessionSecret, .noRandomness,
      .codesNotKept, .requestStaysNoted,
    ]
    let outages: [TransportError.Code] = [
      .nameNotFound, .nameLookupTimedOut, .connectionRefused, .connectTimedOut, .networkUnreachable, .tlsTimedOut,
      .tlsRefused, .silent, .connectionLost,
    ]
    for error in others { #expect(!message(error).contains("not reachable"), "\(error)") }
    for code in TransportError.Code.allCases where code != .interrupted {
      let text = message(.transport(TransportError(code)))
      #expect(text.contains("server not reachable") == outages.contains(code), "\(text)")
      #expect(!text.contains("helper"))
    }
    #expect(Set([others[0], others[1], .transport(TransportError(.workerDied))].map(message)).count == 3)
  }
}
