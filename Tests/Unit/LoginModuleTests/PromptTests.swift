import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

@Suite struct PromptTests {
  let approving: [ScriptedTransport.Step] = [
    .start(202, ScriptedTransport.started), .status(200, ScriptedTransport.word("active")),
  ]

  @Test func enterRingsThePhone() throws {
    var scene = try SignInFixture(approving, answers: [""])
    scene.request.remoteUser = "mallory"
    #expect(try scene.isApproved())
    #expect(scene.terminal.shown.first == "Press Enter alone to approve on your phone")
    #expect(scene.terminal.asked == ["Password: "])
  }

  /// sshpass counts every "assword" that it reads as a prompt.
  @Test func theLineBeforeThePromptIsTakenForNoPrompt() {
    #expect(!PasswordQuestion.enterAlone.contains("assword") && !PasswordQuestion.enterAlone.contains(":"))
  }

  @Test func sudoThatReadsItsInputAsksFirst() throws {
    var scene = try SignInFixture([], answers: ["hunter2"])
    scene.request.isAnsweredByProgram = true
    #expect(try scene.refusal() == .passwordTyped)
    #expect(scene.terminal.asked == ["Password: "])
  }

  @Test(arguments: ["gdm-password", "sddm", "lightdm", "greetd"], [false, true])
  func theQuestionOfAGreeterIsShortAndStandsAlone(_ service: String, _ hasPassword: Bool) throws {
    var scene = try SignInFixture(approving, answers: [""])
    scene.request.service = service
    scene.request.hasPassword = hasPassword
    scene.request.remoteUser = "mallory"
    #expect(try scene.isApproved())
    #expect(scene.terminal.asked == [hasPassword ? "Enter for phone: " : "Password, or Enter for phone: "])
    #expect(!scene.terminal.shown.contains(PasswordQuestion.enterAlone))
  }

  @Test func aTypedPasswordGoesToTheNextModule() throws {
    var scene = try SignInFixture([], answers: ["hunter2"])
    scene.policy.prompt = .choose
    #expect(try scene.refusal() == .passwordTyped)
    #expect(scene.terminal.password == Secret("hunter2"))
  }

  @Test func theSecondFactorTakesEnterOnly() throws {
    var scene = try SignInFixture([], answers: ["anything"])
    scene.policy.prompt = .choose
    scene.request.hasPassword = true
    #expect(try scene.refusal() == .textAtSecondFactor)
    #expect(scene.terminal.password == nil)
    #expect(scene.terminal.asked == ["Enter to approve on your phone: "])
  }

  @Test(arguments: PromptMode.allCases)
  func whatAsksNothingRingsNobody(_ prompt: PromptMode) throws {
    var scene = try SignInFixture([])
    scene.policy.prompt = prompt
    scene.request.asksNothing = true
    #expect(try scene.refusal() == .asksNothing)
    #expect(scene.terminal.asked.isEmpty)
    #expect(scene.limit.count == 0)
    #expect(Refusal.asksNothing.message(passwordFollows: true) == nil)
  }

  @Test func aMissingAnswerIsNotEnter() throws {
    var scene = try SignInFixture([], answers: [nil])
    scene.policy.prompt = .choose
    #expect(try scene.refusal() == .promptNotAnswered)
  }

  @Test(arguments: [false, true])
  func anAnswerFasterThanAnyoneReadsIsNotEnter(_ hasPassword: Bool) throws {
    var scene = try SignInFixture([], answers: ["", ""])
    scene.policy.prompt = .choose
    scene.request.hasPassword = hasPassword
    scene.terminal.paces = [249]
    #expect(try scene.refusal() == .answeredByNobody)
    #expect(scene.terminal.asked.count == 2)
    #expect(Set(scene.terminal.asked).count == 1)
    #expect(scene.limit.count == 0)
  }

  /// SDDM answers with what was typed before PAM asked.
  @Test(arguments: ["sddm", "lightdm", "greetd"])
  func enterAtAGreeterOfThisComputerMayComeAtOnce(_ service: String) throws {
    var scene = try SignInFixture(approving, answers: [""])
    scene.request.service = service
    scene.request.remoteUser = nil
    scene.terminal.paces = [0]
    #expect(try scene.isApproved())
  }

  @Test func atAGreeterOfAnotherComputerSomebodyMustReadTheQuestion() throws {
    var scene = try SignInFixture([], answers: ["", ""])
    scene.request.service = "lightdm"
    scene.request.remoteHost = "192.0.2.1"
    scene.terminal.paces = [0]
    #expect(try scene.refusal() == .answeredByNobody)
  }

  @Test func afterOneThatWasTooFastEnterStillRings() throws {
    var scene = try SignInFixture(approving, answers: ["", ""])
    scene.policy.prompt = .choose
    scene.terminal.paces = [5, 250]
    #expect(try scene.isApproved())
  }

  @Test func aPasswordMayComeAsFastAsItLikes() throws {
    var scene = try SignInFixture([], answers: ["", "hunter2"])
    scene.policy.prompt = .choose
    scene.terminal.paces = [0]
    #expect(try scene.refusal() == .passwordTyped)
    #expect(scene.terminal.password == Secret("hunter2"))
  }

  @Test func sshAsksEveryNameTheSame() throws {
    var scene = try SignInFixture([], user: "bob", answers: [""])
    scene.request.service = "sshd"
    scene.request.remoteUser = nil
    #expect(try scene.refusal() == .noToken)
  }

  @Test func sshAsksANameThatCannotBeLookedUpTheSame() throws {
    var scene = try SignInFixture([], answers: [""])
    scene.request.service = "sshd"
    scene.request.remoteUser = nil
    scene.tokens.refusal = .lookupFailed(.system(EMFILE))
    #expect(try scene.refusal() == .lookupFailed(.system(EMFILE)))
    #expect(scene.terminal.asked.count == 1)
  }

  @Test(arguments: ["tty", "remoteUser", "remoteHost"])
  func autoRingsOnlyForOneselfAtATerminal(_ missing: String) throws {
    var scene = try SignInFixture([], answers: ["typed"])
    switch missing {
    case "tty": scene.request.tty = nil
    case "remoteUser": scene.request.remoteUser = "mallory"
    default: scene.request.remoteHost = "192.0.2.1"
    }
    #expect(try scene.refusal() == .passwordTyped)
  }

  @Test func sshShowsTheMatchCodeInAPrompt() throws {
    let body = ScriptedTransport.started.replacing(#""session_token""#, with: #""match_code":"47","session_token""#)
    var scene = try SignInFixture([.start(202, body), approving[1]], answers: [""])
    scene.request.service = "sshd"
    scene.policy.prompt = .push
    #expect(try scene.isApproved())
    #expect(scene.terminal.asked == ["Code 47: approve on your phone, then press Enter: "])
  }

  /// One request is enough for an ssh connection, also if nobody waits for its answer.
  @Test func whoeverLeavesAtTheCodesPromptHasHadTheRequest() throws {
    let body = ScriptedTransport.started.replacing(#""session_token""#, with: #""match_code":"47","session_token""#)
    var scene = try SignInFixture([.start(202, body), .logout], answers: [nil])
    scene.request.service = "sshd"
    scene.policy.prompt = .push
    let refusal = try scene.refusal()
    #expect(refusal == .abandoned)
    #expect(refusal?.followsARequest == true)
    #expect(!Refusal.promptNotAnswered.followsARequest && !Refusal.terminalGone.followsARequest)
  }
}
