import CPAM
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import LoginModule

/// A phone whose digits are never right. It says what a test wants of each try.
private final class ScriptedOfflinePhone: OfflineApprovalVerifier {
  var verdict = DigitsVerdict.wrong
  var questionError: OfflineError?
  var takeError: OfflineError?
  var hasPhone = true
  private(set) var posed = 0
  private(set) var taken: [String] = []

  func question(isEnrolled: Bool) throws(OfflineError) -> PosedQuestion? {
    if let questionError { throw questionError }
    guard hasPhone else { return nil }
    posed += 1
    let context = SignInContext(host: "desk-7", service: "sudo", user: "alice")
    guard let key = try? ComputerKey.make(for: "this one"),
      let challenge = OfflineChallenge.draw(by: key.publicKey, at: 0, method: .acceptance, context: context)
    else { throw .unknownComputer }
    return PosedQuestion(question: OfflineQuestion(challenge: challenge, posed: 0), link: "link \(posed)")
  }

  func take(
    _ digits: OfflineDigits, for question: OfflineQuestion, isEnrolled: Bool
  ) throws(OfflineError) -> DigitsVerdict {
    if let takeError { throw takeError }
    taken.append(digits.exposedText)
    return verdict
  }
}

/// What is offered if the service cannot be reached, and a phone could approve without it.
@Suite struct PhoneOfferTests {
  typealias Step = ScriptedTransport.Step
  private let desk = ScriptedOfflinePhone()
  private let offer = "Server not reachable. Digits on your phone, or password: "

  private func scene(_ steps: [Step] = [.failure(.connectionRefused)], answers: [String?]) throws -> SignInFixture {
    var scene = try SignInFixture(steps, answers: answers)
    scene.offline = OfflineWays(codes: nil, phone: desk, limit: scene.limit)
    return scene
  }

  @Test func theLinkComesBeforeThePrompt() throws {
    let scene = try scene(answers: [""])
    guard case .unavailable = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
    #expect(scene.terminal.shown == [Refusal.openOnPhone] && scene.terminal.links == ["link 1"])
    #expect(scene.terminal.asked == [offer])
  }

  @Test func wrongDigitsAreCounted() throws {
    let wrong = (0..<5).map { "1234567\($0)" }
    let scene = try scene(answers: wrong)
    guard case .offered(.wrongCodes(nil), .unavailable) = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
    #expect(desk.taken.count == 5 && scene.limit.count == 5 && desk.posed == 1)
    #expect(scene.terminal.shown.filter { $0 == Refusal.digitsNotTaken }.count == 5)
  }

  @Test func afterTwoMinutesThereIsANewLink() throws {
    desk.verdict = .tooLate
    let scene = try scene(answers: ["12345678", ""])
    _ = try scene.refusal()
    #expect(scene.terminal.links == ["link 1", "link 2"])
    #expect(scene.terminal.shown == [Refusal.openOnPhone, Refusal.digitsTooLate, Refusal.openOnPhone])
    #expect(scene.limit.count == 1)
  }

  @Test func aPasswordOfEightDigitsGoesOnIfItIsTypedTwice() throws {
    let scene = try scene(answers: ["12345678", "12345678"])
    guard case .offered(.passwordTyped, _) = try scene.refusal() else {
      Issue.record("not handed on")
      return
    }
    #expect(scene.terminal.password?.exposedValue == "12345678" && desk.taken.count == 1)
  }

  @Test func pastTheLimitNoDigitsAreLookedAt() throws {
    let full = ScriptedLimit()
    full.refusal = .tooMany(secondsLeft: 1)
    var scene = try SignInFixture([.failure(.connectionRefused)], answers: ["12345678"])
    scene.offline = OfflineWays(codes: nil, phone: desk, limit: full)
    guard case .offered(.tooManyTries, _) = try scene.refusal() else {
      Issue.record("taken")
      return
    }
    #expect(desk.taken.isEmpty && scene.terminal.password == nil)
  }

  @Test func digitsFromAllHostsAreCountedTogether() throws {
    let remote = ScriptedLimit()
    var scene = try SignInFixture([.failure(.connectionRefused)], answers: ["12345678", "12345679", ""])
    scene.offline = OfflineWays(codes: nil, phone: desk, limit: scene.limit, remoteDigits: remote)
    _ = try scene.refusal()
    #expect(remote.count == 2 && scene.limit.count == 2)
    remote.refusal = .tooMany(secondsLeft: 1)
    scene = try SignInFixture([.failure(.connectionRefused)], answers: ["12345678"])
    scene.offline = OfflineWays(codes: nil, phone: desk, limit: scene.limit, remoteDigits: remote)
    guard case .offered(.tooManyTries, _) = try scene.refusal() else {
      Issue.record("taken")
      return
    }
    #expect(desk.taken.count == 2)
  }

  @Test func withoutAPhoneThatCouldAnswerNothingIsOffered() throws {
    desk.hasPhone = false
    let scene = try scene(answers: [])
    guard case .unavailable = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
    #expect(scene.terminal.asked.isEmpty && scene.terminal.shown.isEmpty)
  }

  /// This computer knows no phone: sshd has nothing to offer, and an outage passes for users with a token alone.
  @Test(arguments: [("alice", PAM_IGNORE), ("nobody-here", PAM_AUTHINFO_UNAVAIL)])
  func anOutageWithoutAnOfferOpensOnlyForUsersWithAToken(_ user: String, _ code: Int32) throws {
    desk.hasPhone = false
    var scene = try SignInFixture([.failure(.connectionRefused)], user: user, answers: [""])
    scene.request.service = "sshd"
    scene.request.remoteUser = nil
    scene.offline = OfflineWays(codes: nil, phone: desk, limit: scene.limit)
    let refusal = try #require(try scene.refusal())
    #expect(PAMAnswer(isSSH: true, failsOpen: true, passwordFollows: true).code(for: refusal) == code)
  }

  @Test(arguments: ["failed", "cancelled", "closed"])
  func aPhoneThatWasAskedIsNotAskedAgain(_ word: String) throws {
    let started = Step.start(202, ScriptedTransport.started)
    let scene = try scene([started, .status(200, ScriptedTransport.word(word)), .logout], answers: [])
    _ = try scene.refusal()
    #expect(desk.posed == 0)
  }

  @Test func aServiceThatRefusesLeavesNoPhone() throws {
    let scene = try scene([.start(200, #"{"authenticated":false,"reason":"NO_MOBILE_DEVICE"}"#)], answers: [])
    #expect(try scene.refusal() == .noPhone)
    #expect(desk.posed == 0)
  }

  @Test(arguments: [OfflineError.unknownComputer, .file(FileError(.system(ENOSPC), path: "/x"))])
  func aFaultIsSaid(_ fault: OfflineError) throws {
    desk.takeError = fault
    let refusal = try #require(try scene(answers: ["12345678"]).refusal())
    guard case .offered(.phoneBroken(fault), _) = refusal else {
      Issue.record("another ending")
      return
    }
    let message = refusal.message(passwordFollows: true)
    #expect(message == "IAMPASS: your phone cannot approve without the network: \(fault.words). Use your password.")
    #expect(PAMAnswer(isSSH: false, failsOpen: true, passwordFollows: true).code(for: refusal) == PAM_AUTHINFO_UNAVAIL)
  }

  @Test func strangersLearnNothingOfAFault() throws {
    desk.takeError = .unknownComputer
    var scene = try scene(answers: [""] + (0..<5).map { "1234567\($0)" })
    scene.request = LoginRequest(
      user: try #require(UnixUsername(validating: "alice")), service: "sshd", tty: "ssh", remoteHost: "192.0.2.1",
      callingUID: 0)
    guard case .offered(.wrongCodes(.phone(.unknownComputer)?), _) = try scene.refusal() else {
      Issue.record("another ending")
      return
    }
    #expect(scene.terminal.shown.filter { $0 == Refusal.digitsNotTaken }.count == 5)
  }
}
