import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

/// One attempt over scripts. The usual case is a user's sudo for themselves.
struct SignInFixture {
  let clock = ScriptedClock()
  let transport: ScriptedTransport
  let terminal: ScriptedTerminal
  let limit = ScriptedLimit()
  var recorder = ScriptedRecorder()
  var tokens = ScriptedTokens()
  var trust: ScriptedTrust?
  var offline: OfflineWays?
  var resumable: ScriptedShelf?
  var request: LoginRequest
  var policy = LoginPolicy(
    prompt: .auto, methods: [], timeout: 30, sessionDuration: 43_200, sendsContext: false, mustWatch: false)

  init(_ steps: [ScriptedTransport.Step], user: String = "alice", answers: [String?] = []) throws {
    transport = ScriptedTransport(steps, clock: clock)
    terminal = ScriptedTerminal(answers: answers, clock: clock)
    request = LoginRequest(
      user: try #require(UnixUsername(validating: user)), service: "sudo", tty: "/dev/pts/1", remoteUser: user,
      callingUID: 1_000)
  }

  /// Runs to the end and uses every step of the scripts.
  func run() throws -> LoginOutcome {
    let attempt = LoginAttempt(
      request: request, policy: policy, tokens: tokens, trust: trust, service: try ClientService(transport),
      conversation: terminal, limit: limit, recorder: recorder, clock: clock,
      offline: offline, resumable: resumable)
    let outcome = attempt.run()
    #expect(transport.isFinished, "the service was to be asked more")
    #expect(terminal.answers.isEmpty, "the user was to be asked more")
    return outcome
  }

  func refusal() throws -> Refusal? {
    if case .refused(let refusal) = try run() { refusal } else { nil }
  }

  func isApproved() throws -> Bool {
    if case .approved = try run() { true } else { false }
  }
}

@Suite struct NameTests {
  @Test func anotherSpellingIsAnotherUsersTerminal() throws {
    let target = try #require(UnixUsername(validating: "jos\u{E9}"))
    func request(_ remote: String) -> LoginRequest {
      LoginRequest(user: target, service: "su", tty: "/dev/pts/1", remoteUser: remote, callingUID: 1_000)
    }
    #expect(request("jos\u{E9}").isOwnTerminal)
    #expect(!request("jose\u{301}").isOwnTerminal)
  }

  @Test func whoBeganAProgramIsItsSource() throws {
    let alice = try #require(UnixUsername(validating: "alice"))
    func source(_ service: String, _ uid: UInt32) -> AttemptSource {
      LoginRequest(user: alice, service: service, callingUID: uid).source
    }
    #expect(source("polkit-1", 1_001) == .caller(uid: 1_001))
    #expect(source("polkit-1", 0) == .program(service: "polkit-1"))
    #expect(source("gdm-password", 0) == .program(service: "gdm-password"))
  }

  @Test func thePhoneIsToldWhoAsksForAnother() throws {
    let alice = SystemUser(name: try #require(UnixUsername(validating: "alice")), uid: 4_000_000_001)
    func asker(_ service: String, by uid: UInt32, remoteUser: String? = nil, remoteHost: String? = nil) -> String? {
      let request = LoginRequest(
        user: alice.name, service: service, remoteHost: remoteHost, remoteUser: remoteUser, callingUID: uid)
      return AskingUser.name(of: request, knownAs: alice)
    }
    #expect(asker("polkit-1", by: 4_000_000_001) == nil)
    #expect(asker("su", by: 4_000_000_002, remoteUser: "alice") == "uid 4000000002")
    #expect(asker("sudo", by: 0, remoteUser: "bob") == "bob")
    #expect(asker("sudo", by: 0, remoteUser: "alice") == nil)
    #expect(asker("polkit-1", by: 0) == AskingUser.unknown)
    #expect(asker("gdm-password", by: 0) == nil)
    #expect(asker("rsh", by: 0, remoteUser: "bob", remoteHost: "192.0.2.1") == nil)
  }
}

@Suite struct LoginAttemptTests {
  typealias Step = ScriptedTransport.Step
  let started = Step.start(202, ScriptedTransport.started)

  private func status(_ word: String) -> Step { .status(200, ScriptedTransport.word(word)) }

  @Test func approvesWhenTheStatusIsActive() throws {
    let scene = try SignInFixture([started, status("pending"), status("identifying"), status("active")])
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown == ["Approve the sign-in on your phone", "Your phone has the request: answer there"])
    #expect(scene.limit.count == 0)
  }

  @Test func neverApprovesFromTheStartReplyAlone() throws {
    let body = ScriptedTransport.started.replacing("pending", with: "active")
    #expect(try SignInFixture([.start(202, body), status("cancelled"), .logout]).refusal() == .denied)
  }

  /// The user is not told that somebody denied it.
  @Test func wrongDigitsAreADenialThatSaysSo() throws {
    let ended = StatusReply(status: .cancelled, authenticated: false, reason: "WRONG_CODE").encoded()
    let scene = try SignInFixture([started, .status(200, String(decoding: ended, as: UTF8.self)), .logout])
    let refusal = try scene.refusal()
    #expect(refusal == .wrongDigits)
    #expect(refusal?.message(passwordFollows: true) == "IAMPASS: wrong digits were typed on your phone; try again")
    #expect(scene.limit.count == 1)
  }

  @Test(arguments: ["DENIED", "NOT_ME", "wrong_code", "WRONG_CODE_2", ""])
  func noOtherReasonOfADenialSpeaksOfDigits(_ reason: String) {
    #expect(Refusal(endedBy: .cancelled, reason: reason) == .denied)
  }

  /// The reason opens nothing, whatever status it comes with.
  @Test func digitsMeanNothingOutsideADenial() {
    #expect(Refusal(endedBy: .timeout, reason: "WRONG_CODE") == .notAnswered)
    #expect(Refusal(endedBy: .failed, reason: "WRONG_CODE") == .endedWhileWaiting(.failed, reason: "WRONG_CODE"))
  }

  @Test func deniesOnCancelledAndSaysSoToTheService() throws {
    let scene = try SignInFixture([started, status("cancelled"), .logout])
    #expect(try scene.refusal() == .denied)
    #expect(scene.limit.count == 1)
  }

  @Test(
    arguments: [
      ("failed", .failed), ("closed", .closed), ("walkaway", .walkaway), ("Active", .unknown("Active")),
      ("maybe", .unknown("maybe")), ("", .unknown("")),
    ] as [(String, RequestEnd)])
  func refusesEveryOtherEndAndUnknownWord(_ word: String, _ end: RequestEnd) throws {
    let expected = Refusal.endedWhileWaiting(end, reason: nil)
    #expect(try SignInFixture([started, status(word), .logout]).refusal() == expected)
  }

  @Test(arguments: [
    #"{"session_status":"active","authenticated":false}"#, #"{"session_status":"active","session_status":"active"}"#,
    #"{"session_status":"active"} x"#, #"{"session_status":["active"]}"#, "", "<html>",
  ])
  func refusesAReplyThatOnlyLooksActive(_ body: String) throws {
    guard case .unavailable = try SignInFixture([started, .status(200, body), .logout]).refusal() else {
      Issue.record("not refused as unavailable")
      return
    }
  }

  @Test(arguments: [201, 202, 204, 206])
  func refusesActiveWithAnotherStatusThan200(_ code: Int) throws {
    let scene = try SignInFixture([started, .status(code, ScriptedTransport.word("active")), .logout])
    #expect(try scene.refusal() == .unavailable(.unexpectedStatus(code)))
  }

  @Test func refusesAnApprovalAfterItsOwnTime() throws {
    let late = Step.heldStatus(milliseconds: 30_001, ScriptedTransport.word("active"))
    #expect(try SignInFixture([started, late, .logout]).refusal() == .notAnswered)
  }

  /// On a busy machine the worker begins the last question too late. Its own deadline comes before the caller's.
  @Test(arguments: [29_900, 29_999, 30_000])
  func aWorkerWithoutTimeLeftEndsTheWaitAsNotAnswered(at milliseconds: Int64) throws {
    let late = Step.lateFailure(milliseconds: milliseconds, .workerFailed)
    #expect(try SignInFixture([started, late, .logout]).refusal() == .notAnswered)
  }

  @Test(arguments: [0, 29_000])
  func aWorkerThatFailsEarlierEndsTheWaitAsUnavailable(at milliseconds: Int64) throws {
    let failed = Step.lateFailure(milliseconds: milliseconds, .workerFailed)
    let early = try SignInFixture([started, failed, .logout]).refusal()
    guard case .unavailable(.transport(let error)) = early else {
      Issue.record("not refused as unavailable")
      return
    }
    #expect(error.code == .workerFailed)
  }

  /// The caller's own deadline has come: a worker that reports now, is silent or has ended is not a broken one.
  @Test(arguments: [30_000, 30_001, 31_000] as [Int64], TransportError.Code.allCases.filter { $0 != .interrupted })
  func noReportAfterTheDeadlineIsAFailure(at milliseconds: Int64, _ code: TransportError.Code) throws {
    let late = Step.lateFailure(milliseconds: milliseconds, code)
    #expect(try SignInFixture([started, late, .logout]).refusal() == .notAnswered)
  }

  @Test(arguments: [0, 29_899, 29_999] as [Int64])
  func aWorkerThatEndsBeforeTheDeadlineEndsTheWaitAsUnavailable(at milliseconds: Int64) throws {
    let ended = Step.lateFailure(milliseconds: milliseconds, .workerDied)
    let expected = Refusal.unavailable(.transport(TransportError(.workerDied)))
    #expect(try SignInFixture([started, ended, .logout]).refusal() == expected)
  }

  @Test(arguments: [29_999, 30_000, 31_000] as [Int64])
  func anInterruptionIsOneAfterTheDeadlineToo(at milliseconds: Int64) throws {
    let late = Step.lateFailure(milliseconds: milliseconds, .interrupted)
    #expect(try SignInFixture([started, late, .logout]).refusal() == .interrupted)
  }

  /// The service's own word counts, though it is late.
  @Test func aDenialAfterTheDeadlineIsADenial() throws {
    let late = Step.heldStatus(milliseconds: 30_001, ScriptedTransport.word("cancelled"))
    #expect(try SignInFixture([started, late, .logout]).refusal() == .denied)
  }

  @Test func endsAtItsTimeoutAndCancels() throws {
    var scene = try SignInFixture([started, status("pending"), status("pending"), status("pending"), .logout])
    scene.policy.timeout = 2
    #expect(try scene.refusal() == .notAnswered)
    #expect(scene.clock.now() == MonotonicInstant(nanoseconds: 2_000_000_000))
  }

  @Test func asksAgainAtOnceWhereTheServiceHolds() throws {
    let held = Step.heldStatus(milliseconds: 10_000, ScriptedTransport.word("pending"))
    let active = Step.heldStatus(milliseconds: 1, ScriptedTransport.word("active"))
    #expect(try SignInFixture([started, held, held, active]).isApproved())
  }

  @Test func asksNoFasterWhereTheServiceOnlySaysThatItHolds() throws {
    let hasty = Step.heldStatus(milliseconds: 0, ScriptedTransport.word("pending"))
    var scene = try SignInFixture([started] + [Step](repeating: hasty, count: 4) + [.logout])
    scene.policy.timeout = 8
    #expect(try scene.refusal() == .notAnswered)
  }

  @Test func waitsThroughAFaultThatPasses() throws {
    let scene = try SignInFixture([
      started, .status(503, ""), .failure(.connectionLost), .status(429, ""), status("active"),
    ])
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown.last == "waiting for the server…")
    #expect(scene.clock.now() >= MonotonicInstant(nanoseconds: 3_000_000_000))
  }

  @Test(arguments: [
    (401, ServiceError.notAccepted(status: 401)), (404, .notFound), (302, .redirected(status: 302)),
  ])
  func doesNotAskAgainWhereThatCannotHelp(_ code: Int, _ error: ServiceError) throws {
    #expect(try SignInFixture([started, .status(code, ""), .logout]).refusal() == .unavailable(error))
  }

  @Test func cancelsWhenInterrupted() throws {
    let scene = try SignInFixture([started, status("pending"), .logout])
    scene.clock.interruptedPause = 1
    #expect(try scene.refusal() == .interrupted)
  }

  @Test func cancelsWhenTheTerminalIsGone() throws {
    let scene = try SignInFixture([started, .logout])
    scene.terminal.isGone = true
    #expect(try scene.refusal() == .abandoned)
  }

  @Test func sendsNothingForAUserWithoutToken() throws {
    #expect(try SignInFixture([], user: "bob").refusal() == .noToken)
  }

  @Test func sendsNothingForAUserWhoCannotBeLookedUp() throws {
    var scene = try SignInFixture([])
    for refusal in [Refusal.lookupFailed(.system(EMFILE)), .notInSystem(scene.request.user)] {
      scene.tokens.refusal = refusal
      #expect(try scene.refusal() == refusal)
    }
  }

  @Test func sendsNothingPastTheLimit() throws {
    let scene = try SignInFixture([])
    scene.limit.refusal = .tooMany(secondsLeft: 61)
    #expect(try scene.refusal() == .tooManyRequests(secondsLeft: 61))
  }

  @Test func aCommandThatCannotBeReadIsNotAskedWithout() throws {
    var scene = try SignInFixture([])
    scene.policy.sendsContext = true
    scene.policy.sendsCommand = true
    #expect(try scene.refusal() == .commandNotRead)
  }

  @Test func aLongCommandIsNotAskedForWhereItIsRefused() throws {
    var scene = try SignInFixture([])
    scene.policy.sendsContext = true
    scene.policy.sendsCommand = true
    scene.policy.refusesLongCommands = true
    scene.request.command = String(repeating: "x", count: 1_001)
    #expect(try scene.refusal() == .commandTooLong)
  }

  @Test func aLongCommandGoesOutByItsEnds() throws {
    var scene = try SignInFixture([started, status("active")])
    scene.policy.sendsContext = true
    scene.policy.sendsCommand = true
    scene.request.command = String(repeating: "x", count: 1_001)
    #expect(try scene.isApproved())
    let sent = try StartRequest(parsing: try #require(scene.transport.bodies.first))
    #expect(sent.context?.longCommand?.length == "1001")
  }

  @Test func saysThatNoPhoneIsRegistered() throws {
    let body = #"{"authentication_status":{"authenticated":false,"reason":"NO_MOBILE_DEVICE"}}"#
    #expect(try SignInFixture([.start(200, body)]).refusal() == .noPhone)
  }

  @Test(arguments: [(TransportError.Code.connectionRefused, 0), (.connectionLost, 1)])
  func countsARequestThatMayHaveArrived(_ code: TransportError.Code, _ count: Int) throws {
    let scene = try SignInFixture([.failure(code)])
    #expect(try scene.refusal() == .unavailable(.transport(TransportError(code))))
    #expect(scene.limit.count == count)
  }

  @Test func refusesAForeignStatusAddress() throws {
    let body = ScriptedTransport.started.replacing("https://iam.example/s/1", with: "https://iam.example.evil/s/1")
    #expect(try SignInFixture([.start(202, body)]).refusal() == .unavailable(.foreignAddress))
  }

  @Test func refusesASessionThatMustBeWatchedAndCannotBeRecorded() throws {
    var scene = try SignInFixture([started, status("active"), .logout])
    scene.recorder.error = .notARecord
    scene.policy.mustWatch = true
    #expect(try scene.refusal() == .recordNotKept(.notARecord))
  }

  @Test func ringsNobodyForASessionThatCouldHaveNoRecord() throws {
    var scene = try SignInFixture([])
    scene.recorder.early = .unknownProcess
    scene.policy.mustWatch = true
    #expect(try scene.refusal() == .notRecordable(.unknownProcess))
    #expect(scene.limit.count == 0)
  }

  @Test func approvesSudoWithoutARecord() throws {
    var scene = try SignInFixture([started, status("active")])
    scene.recorder.early = .unknownProcess
    scene.recorder.error = .notARecord
    #expect(try scene.isApproved())
  }
}
