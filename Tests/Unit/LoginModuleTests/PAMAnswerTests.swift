import CPAM
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

@Suite struct PAMAnswerTests {
  private let closed = PAMAnswer(isSSH: false, failsOpen: false, passwordFollows: true)
  private let open = PAMAnswer(isSSH: false, failsOpen: true, passwordFollows: true)
  private let ssh = PAMAnswer(isSSH: true, failsOpen: false, passwordFollows: true)

  @Test func anotherNameThanTheApprovedOneEndsEverything() {
    #expect(closed.code(for: .userChanged) == PAM_ABORT)
    #expect(ssh.code(for: .userChanged) == PAM_MAXTRIES)
    #expect(open.code(for: .userChanged) == PAM_ABORT)
  }

  @Test func aRequestThatNobodyAnswersIsUnavailable() {
    #expect(closed.code(for: .answeredByNobody) == PAM_AUTHINFO_UNAVAIL)
    #expect(open.code(for: .answeredByNobody) == PAM_AUTHINFO_UNAVAIL)
    #expect(open.code(for: .asksNothing) == PAM_AUTHINFO_UNAVAIL)
  }

  @Test(arguments: [(1, "in a minute"), (60, "in a minute"), (61, "in 2 minutes"), (600, "in 10 minutes")])
  func aLimitSaysWhenTheNextTryIsPossible(_ seconds: Int64, _ words: String) {
    let requests = closed.message(for: .tooManyRequests(secondsLeft: seconds))
    #expect(requests?.hasPrefix("IAMPASS: too many requests went unanswered; try again \(words)") == true)
    let codes = closed.message(for: .offered(.tooManyTries(secondsLeft: seconds), after: .notAnswered))
    #expect(codes?.hasPrefix("IAMPASS: too many codes were tried; try again \(words)") == true)
  }

  @Test func aDenialIsAskedOnceAndThenAborts() {
    #expect(closed.code(for: .denied) == PAM_MAXTRIES)
    #expect(closed.laterCode(for: .denied) == PAM_ABORT)
    #expect(ssh.laterCode(for: .denied) == PAM_MAXTRIES)
  }

  /// The host must not go on to a password, nor ask on its own: whoever guesses digits would have more tries.
  @Test func wrongDigitsEndTheCallLikeADenial() {
    for answer in [closed, ssh, open, PAMAnswer(isSSH: false, isGDM: true, failsOpen: false, passwordFollows: true)] {
      #expect(answer.code(for: .wrongDigits) == answer.code(for: .denied))
      #expect(answer.laterCode(for: .wrongDigits) == answer.laterCode(for: .denied))
      #expect(answer.style(for: .wrongDigits) == answer.style(for: .denied))
    }
    #expect(!Refusal.wrongDigits.row.leadsToPassword && Refusal.wrongDigits.offersCode == nil)
  }

  /// gnome-shell never asks again after PAM_MAXTRIES or PAM_ABORT.
  @Test func aDenialDoesNotStrandTheGreeterOfGDM() {
    let gdm = PAMAnswer(isSSH: false, isGDM: true, failsOpen: false, passwordFollows: true)
    #expect(gdm.code(for: .denied) == PAM_PERM_DENIED)
    #expect(gdm.laterCode(for: .denied) == PAM_PERM_DENIED)
  }

  /// It would replace a text by "Sorry, password authentication didn't work".
  @Test func aDenialIsAnErrorForTheGreeterOfGDM() {
    let gdm = PAMAnswer(isSSH: false, isGDM: true, failsOpen: false, passwordFollows: true)
    #expect(gdm.style(for: .denied) == PAM_ERROR_MSG)
    #expect(gdm.style(for: .notAnswered) == PAM_TEXT_INFO)
    #expect(closed.style(for: .denied) == PAM_TEXT_INFO)
  }

  @Test func interruptionAborts() {
    #expect(closed.code(for: .interrupted) == PAM_ABORT)
    #expect(ssh.code(for: .interrupted) == PAM_MAXTRIES)
  }

  @Test(arguments: TransportError.Code.allCases)
  func failOpenOpensOnOutagesAlone(_ code: TransportError.Code) {
    let outages: [TransportError.Code] = [
      .nameNotFound, .nameLookupTimedOut, .connectionRefused, .connectTimedOut, .networkUnreachable, .tlsTimedOut,
      .tlsRefused,
    ]
    let refusal = Refusal.unavailable(.transport(TransportError(code)))
    #expect(open.code(for: refusal) == (outages.contains(code) ? PAM_IGNORE : PAM_AUTHINFO_UNAVAIL))
    #expect(closed.code(for: refusal) == PAM_AUTHINFO_UNAVAIL)
  }

  /// `user_unknown=ignore` lets users without a token in by their password alone.
  @Test func aUserWhoCannotBeLookedUpIsNeverOneWithoutAToken() throws {
    let refusals: [Refusal] = [
      .lookupFailed(.system(ENOENT)), .lookupFailed(.noSuchGroup("staff")),
      .notInSystem(try #require(UnixUsername(validating: "alice"))),
      Refusal(Misconfiguration.users(.lookup(.system(EIO)), path: "users")),
      Refusal(PhoneTrustError.file(.lookup(.system(EIO)), path: "phones")),
    ]
    for answer in [closed, open, ssh] {
      for refusal in refusals {
        #expect(answer.code(for: refusal) == PAM_AUTHINFO_UNAVAIL)
        #expect(answer.laterCode(for: refusal) == PAM_AUTHINFO_UNAVAIL)
        #expect(BrokerEnding(refusal) == .aside)
      }
    }
  }

  /// Otherwise strangers at sshd's prompt could tell names that have a token from others.
  @Test func aNameThatTheSystemDoesNotKnowLooksTheSameWithAndWithoutAToken() throws {
    let gone = Refusal.notInSystem(try #require(UnixUsername(validating: "alice")))
    for answer in [closed, open, ssh] {
      #expect(answer.message(for: gone) == nil && answer.message(for: .noToken) == nil)
    }
  }

  @Test func failOpenNeverOpensOnABrokenConfiguration() {
    #expect(open.code(for: .misconfigured(.noServer)) == PAM_SERVICE_ERR)
  }
}
