import CPAM
import Foundation
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import LoginModule

/// A user's codes in a folder of their own, and the desk that takes them.
final class CodeDrawer: RecoveryCodeVerifier {
  let alice = SystemUser(name: UnixUsername(validating: "alice")!, uid: 1_000)
  let codes: RecoveryCodes
  let state: RunFolder
  let texts: [String]
  private let folder: String
  private(set) var asked = 0

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    state = RunFolder(path: folder + "/state")
    codes = RecoveryCodes(state: state, computer: "this one")
    let drawn = try codes.draw(for: alice, at: 0)
    try codes.keep(drawn.set)
    texts = drawn.codes.map(\.exposedText)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict {
    asked += 1
    let use = CodeUse(user: alice.name, service: "sudo", tty: nil, remoteHost: nil, time: 0)
    return try codes.take(code, of: isEnrolled ? alice : nil, use)
  }
}

@Suite(.enabled(if: geteuid() == 0, "the sets are root's"))
struct CodeOfferTests {
  typealias Step = ScriptedTransport.Step
  private let drawer: CodeDrawer
  private let started = Step.start(202, ScriptedTransport.started)
  private let offer = "Server not reachable. Recovery code, or password: "

  init() throws { drawer = try CodeDrawer() }

  private func scene(_ steps: [Step] = [.failure(.connectionRefused)], answers: [String?]) throws -> SignInFixture {
    var scene = try SignInFixture(steps, answers: answers)
    scene.offline = OfflineWays(codes: drawer, limit: scene.limit)
    return scene
  }

  private func status(_ word: String) -> Step { .status(200, ScriptedTransport.word(word)) }

  @Test func aCodeSignsInWithoutTheService() throws {
    let scene = try scene(answers: [drawer.texts[2]])
    guard case .offline(let signIn) = try scene.run(), case .code(let accepted) = signIn.proof else {
      Issue.record("not signed in")
      return
    }
    #expect(accepted.number == 3 && accepted.left == 9)
    #expect(signIn.record == nil, "sudo opens no session")
    #expect(scene.terminal.asked == [offer])
    #expect(scene.limit.count == 0, "a right code does not count as a try")
  }

  @Test func withoutThisWayNothingIsOffered() throws {
    let scene = try SignInFixture([.failure(.connectionRefused)])
    guard case .unavailable = try scene.refusal() else {
      Issue.record("not unavailable")
      return
    }
    #expect(scene.terminal.asked.isEmpty)
  }

  @Test func aCodeServesOnce() throws {
    #expect(try scene(answers: [drawer.texts[0]]).refusal() == nil)
    let again = try scene(answers: [drawer.texts[0], ""])
    guard case .unavailable = try again.refusal() else {
      Issue.record("a used code was taken")
      return
    }
    #expect(again.terminal.shown == [Refusal.codeNotTaken])
    #expect(again.limit.count == 1)
  }

  @Test func aDenialEndsTheAttempt() throws {
    #expect(try scene([started, status("cancelled"), .logout], answers: []).refusal() == .denied)
    #expect(drawer.asked == 0)
  }

  @Test(arguments: ["failed", "closed", "walkaway", "maybe"])
  func anotherEndOffersNothing(_ word: String) throws {
    guard case .endedWhileWaiting = try scene([started, status(word), .logout], answers: []).refusal() else {
      Issue.record("offered")
      return
    }
  }

  @Test func anUnansweredRequestIsTakenBackFirst() throws {
    var scene = try scene(
      waited + [status("pending"), .logout], answers: [drawer.texts[0]])
    scene.policy.timeout = 2
    guard case .offline = try scene.run() else {
      Issue.record("not signed in")
      return
    }
    #expect(scene.terminal.asked == ["Not answered. Recovery code, or password: "])
  }

  /// A request of two seconds that nobody answers.
  private var waited: [Step] { [started, status("pending"), status("pending"), status("pending")] }

  @Test func aDenialInTheLastMomentIsSeen() throws {
    var scene = try scene(waited + [status("cancelled"), .logout], answers: [])
    scene.policy.timeout = 2
    #expect(try scene.refusal() == .denied)
  }

  @Test func anApprovalInTheLastMomentIsTooLate() throws {
    var scene = try scene(waited + [status("active"), .logout], answers: [""])
    scene.policy.timeout = 2
    #expect(try scene.refusal() == .notAnswered)
  }

  @Test func withoutTheLastAnswerNothingIsOffered() throws {
    var scene = try scene(waited + [.failure(.connectionLost), .logout], answers: [])
    scene.policy.timeout = 2
    let refusal = try #require(try scene.refusal())
    #expect(refusal == .offered(.withheld, after: .notAnswered))
    let open = PAMAnswer(isSSH: false, failsOpen: true, passwordFollows: true)
    #expect(open.code(for: refusal) == PAM_AUTH_ERR && open.laterCode(for: refusal) == PAM_AUTH_ERR)
    #expect(open.message(for: refusal) == open.message(for: .notAnswered))
  }

  @Test func afterTooManyRequestsNothingIsOffered() throws {
    let scene = try scene([], answers: [])
    scene.limit.refusal = .tooMany(secondsLeft: 61)
    #expect(try scene.refusal() == .tooManyRequests(secondsLeft: 61))
  }

  @Test func aPasswordGoesToTheNextModule() throws {
    let scene = try scene(answers: ["hunter2"])
    guard case .offered(.passwordTyped, .unavailable) = try scene.refusal() else {
      Issue.record("not handed on")
      return
    }
    #expect(scene.terminal.password?.exposedValue == "hunter2")
    #expect(drawer.asked == 0 && scene.limit.count == 0, "a password does not count as a try")
  }

  @Test func aPasswordThatLooksLikeACodeGoesOnIfItIsTypedTwice() throws {
    let scene = try scene(answers: ["abcde-fghjk", "abcde-fghjk"])
    guard case .offered(.passwordTyped, _) = try scene.refusal() else {
      Issue.record("not handed on")
      return
    }
    #expect(scene.terminal.password?.exposedValue == "abcde-fghjk")
    #expect(drawer.asked == 1)
  }

  @Test func fiveWrongCodesEndIt() throws {
    let wrong = (0..<5).map { "00000-0000\($0)" }
    let scene = try scene(answers: wrong)
    guard case .offered(.wrongCodes(nil), _) = try scene.refusal() else {
      Issue.record("not ended")
      return
    }
    #expect(drawer.asked == 5 && scene.limit.count == 5)
  }

  @Test func pastTheLimitNoCodeIsLookedAt() throws {
    let full = ScriptedLimit()
    full.refusal = .tooMany(secondsLeft: 1)
    var scene = try SignInFixture([.failure(.connectionRefused)], answers: [drawer.texts[0]])
    scene.offline = OfflineWays(codes: drawer, limit: full)
    guard case .offered(.tooManyTries, _) = try scene.refusal() else {
      Issue.record("taken")
      return
    }
    #expect(drawer.asked == 0)
    #expect(scene.terminal.password == nil, "a right code is nothing for the next module")
  }

  @Test func nothingTypedEndsAsWithoutTheOffer() throws {
    for answer in ["", nil] as [String?] {
      guard case .unavailable = try scene(answers: [answer]).refusal() else {
        Issue.record("another ending")
        return
      }
    }
  }

  @Test func asSecondFactorOnlyACodeCounts() throws {
    var scene = try scene(answers: ["", "hunter2"])
    scene.policy.prompt = .choose
    scene.request.hasPassword = true
    #expect(try scene.refusal() == .textAtSecondFactor)
    #expect(scene.terminal.asked.last == "Server not reachable. Recovery code, or Enter: ")
    #expect(scene.terminal.password == nil)
  }

  @Test func aFaultOfTheCodesIsSaid() throws {
    let copy = RecoveryCodes(state: drawer.state, computer: "a copy")
    var scene = try SignInFixture([.failure(.connectionRefused)], answers: [drawer.texts[0]])
    scene.offline = OfflineWays(codes: FaultyCodes(codes: copy, user: drawer.alice), limit: scene.limit)
    let refusal = try #require(try scene.refusal())
    guard case .offered(.broken(.notThisComputers), _) = refusal else {
      Issue.record("another ending")
      return
    }
    let message = refusal.message(passwordFollows: true)
    #expect(
      message == "IAMPASS: recovery codes cannot be used: they were made for another computer. Use your password.")
    #expect(PAMAnswer(isSSH: false, failsOpen: true, passwordFollows: true).code(for: refusal) == PAM_AUTHINFO_UNAVAIL)
  }

  @Test func aSessionThatCannotBeRecordedIsNotOpened() throws {
    var scene = try scene(answers: [drawer.texts[0]])
    scene.policy.mustWatch = true
    scene.recorder.error = .notYours
    #expect(try scene.refusal() == .recordNotKept(.notYours))
  }

  // MARK: ssh

  private func remoteFixture(_ user: String, _ steps: [Step], answers: [String?]) throws -> SignInFixture {
    var scene = try SignInFixture(steps, user: user, answers: answers)
    scene.request = LoginRequest(
      user: try #require(UnixUsername(validating: user)), service: "sshd", tty: "ssh", remoteHost: "192.0.2.1",
      callingUID: 0)
    scene.policy.mustWatch = true
    scene.offline = OfflineWays(codes: drawer, limit: scene.limit)
    return scene
  }

  @Test(arguments: ["alice", "nobody-here"])
  func sshOffersTheSameToEverybody(_ user: String) throws {
    let wrong = (0..<5).map { "00000-0000\($0)" }
    let scene = try remoteFixture(user, [.failure(.connectionRefused)], answers: [""] + wrong)
    guard case .offered(.wrongCodes(nil), .unavailable) = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
    #expect(scene.terminal.asked.count == 6 && scene.terminal.asked[1] == offer)
    #expect(
      scene.terminal.shown == [PasswordQuestion.enterAlone] + [String](repeating: Refusal.codeNotTaken, count: 5))
    #expect(drawer.asked == 5, "a hash for each try")
  }

  @Test func aUserWithoutTokenIsNotSignedInByACode() throws {
    var scene = try remoteFixture("alice", [.failure(.connectionRefused)], answers: ["", drawer.texts[0], ""])
    scene.tokens = ScriptedTokens(tokens: [:])
    guard case .offered(.nothingTyped, .unavailable) = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
  }

  @Test func anOpenOutageOpensForNobodyWhoCannotBeLookedUp() throws {
    let open = PAMAnswer(isSSH: true, failsOpen: true, passwordFollows: true)
    for answers in [["", ""], ["", drawer.texts[0], ""]] {
      var scene = try remoteFixture("alice", [.failure(.connectionRefused)], answers: answers)
      scene.tokens.refusal = .lookupFailed(.system(ETIMEDOUT))
      let refusal = try #require(try scene.refusal())
      #expect(open.code(for: refusal) == PAM_AUTHINFO_UNAVAIL)
      #expect(open.laterCode(for: refusal) == PAM_AUTHINFO_UNAVAIL)
    }
  }

  @Test func anOpenOutageOpensOnlyForUsersWithAToken() throws {
    let open = PAMAnswer(isSSH: true, failsOpen: true, passwordFollows: true)
    var messages: [String?] = []
    for (user, code) in [("alice", PAM_IGNORE), ("nobody-here", PAM_AUTHINFO_UNAVAIL)] {
      let scene = try remoteFixture(user, [.failure(.connectionRefused)], answers: ["", ""])
      let refusal = try #require(try scene.refusal())
      #expect(open.code(for: refusal) == code && open.laterCode(for: refusal) == code)
      messages.append(open.message(for: refusal))
    }
    #expect(messages[0] != nil && messages[0] == messages[1], "every name sees the same")
  }

  @Test(arguments: ["alice", "nobody-here"])
  func anOutageIsWaitedForEquallyLong(_ user: String) throws {
    var scene = try remoteFixture(user, [.failure(.connectTimedOut)], answers: ["", ""])
    scene.policy.timeout = 5
    _ = try scene.refusal()
    #expect(scene.transport.deadlines == [MonotonicInstant(nanoseconds: 6_500_000_000)])
  }

  @Test func aServiceThatAnswersOffersStrangersNothing() throws {
    let scene = try remoteFixture("nobody-here", [.reached], answers: [""])
    #expect(try scene.refusal() == .noToken)
    #expect(scene.limit.count == 0)
  }
}

/// A desk over other codes.
private struct FaultyCodes: RecoveryCodeVerifier {
  let codes: RecoveryCodes
  let user: SystemUser

  func take(_ code: RecoveryCode, isEnrolled: Bool) throws(RecoveryError) -> CodeVerdict {
    try codes.take(code, of: user, CodeUse(user: user.name, service: "sudo", tty: nil, remoteHost: nil, time: 0))
  }
}
