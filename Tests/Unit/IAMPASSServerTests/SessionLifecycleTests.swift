import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct SessionLifecycleTests {
  private let start = UnixTime(seconds: 1_000)

  private func at(_ seconds: Int64) -> UnixTime { start.advanced(seconds: seconds) }

  private func approved(after seconds: Int64 = 1, duration: Int64 = 3_600) -> SessionLifecycle {
    var session = SessionLifecycle(startedAt: start, duration: duration)
    _ = session.answer(.approve, at: at(seconds))
    return session
  }

  @Test func beginsPending() {
    #expect(SessionLifecycle(startedAt: start).status == .pending)
  }

  @Test func isIdentifyingOnceSeen() {
    var session = SessionLifecycle(startedAt: start)
    session.seen(at: at(1))
    #expect(session.status == .identifying)
  }

  @Test func isActiveOnceApproved() { #expect(approved().status == .active) }

  @Test func isCancelledOnceDenied() {
    var session = SessionLifecycle(startedAt: start)
    #expect(session.answer(.deny, at: at(1)) == .taken)
    #expect(session.status == .cancelled)
  }

  @Test func anApprovedRequestIsNotSeenBackToIdentifying() {
    var session = approved()
    session.seen(at: at(2))
    #expect(session.status == .active)
  }

  @Test(arguments: [false, true])
  func timesOutUnanswered(wasSeen: Bool) {
    var session = SessionLifecycle(startedAt: start)
    if wasSeen { session.seen(at: at(1)) }
    session.settle(at: at(60))
    #expect(session.status == .timeout)
  }

  @Test func stillWaitsJustBeforeItsTime() {
    var session = SessionLifecycle(startedAt: start)
    session.settle(at: UnixTime(milliseconds: at(60).milliseconds - 1))
    #expect(session.status == .pending)
  }

  @Test func refusesAnApprovalThatComesLate() {
    var session = SessionLifecycle(startedAt: start)
    #expect(session.answer(.approve, at: at(60)) == .tooLate)
    #expect(session.status == .timeout)
  }

  @Test(arguments: DeviceAnswer.allCases)
  func refusesASecondAnswer(_ second: DeviceAnswer) {
    var session = approved()
    #expect(session.answer(second, at: at(2)) == .alreadyAnswered)
    #expect(session.status == .active)
  }

  @Test func aDeniedRequestCannotBeApproved() {
    var session = SessionLifecycle(startedAt: start)
    _ = session.answer(.deny, at: at(1))
    #expect(session.answer(.approve, at: at(2)) == .alreadyAnswered)
    #expect(session.status == .cancelled)
  }

  @Test func closesAnApprovalThatNobodyCollects() {
    var session = approved(after: 5)
    session.settle(at: at(35))
    #expect(session.status == .closed)
    #expect(session.ending == .notCollected)
  }

  @Test func aCollectedApprovalStays() {
    var session = approved(after: 5)
    session.collect(at: at(34))
    session.settle(at: at(100))
    #expect(session.status == .active)
  }

  @Test func collectingAPendingRequestCollectsNothing() {
    var session = SessionLifecycle(startedAt: start)
    session.collect(at: at(1))
    #expect(session.collectedAt == nil)
  }

  @Test func expiresAtItsGreatestLength() {
    var session = approved(after: 1, duration: 100)
    session.collect(at: at(2))
    session.settle(at: at(101))
    #expect(session.status == .closed)
    #expect(session.ending == .expired)
  }

  @Test func walksAwayAndComesBack() {
    var session = approved()
    session.leave(at: at(2))
    #expect(session.status == .walkaway)
    session.comeBack(at: at(3))
    #expect(session.status == .active)
  }

  @Test func aWalkawayExpiresToo() {
    var session = approved(duration: 100)
    session.collect(at: at(2))
    session.leave(at: at(3))
    session.comeBack(at: at(200))
    #expect(session.status == .closed)
  }

  @Test func leavingDoesNotTouchARequest() {
    var session = SessionLifecycle(startedAt: start)
    session.leave(at: at(1))
    #expect(session.status == .pending)
  }

  @Test func loggingOutClosesAPendingRequest() {
    var session = SessionLifecycle(startedAt: start)
    session.close(.loggedOut, at: at(1))
    #expect(session.status == .closed)
    #expect(session.answer(.approve, at: at(2)) == .tooLate)
  }

  @Test func loggingOutTwiceKeepsTheFirstEnd() {
    var session = approved()
    session.close(.loggedOut, at: at(2))
    session.close(.userDeleted, at: at(3))
    #expect(session.ending == .loggedOut)
    #expect(session.endedAt == at(2))
  }

  @Test func nothingRevivesAnEndedSession() {
    var session = approved()
    session.close(.loggedOut, at: at(2))
    session.seen(at: at(3))
    session.comeBack(at: at(3))
    session.leave(at: at(3))
    #expect(session.status == .closed)
  }

  @Test func anEndedSessionHasNoDeadline() {
    var session = approved()
    session.close(.loggedOut, at: at(2))
    #expect(session.deadline == nil)
  }
}
