import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// While the service cannot be asked.
extension SessionWatchTests {
  static let grace: Int64 = 900_000

  @Test(arguments: [
    WatchEvent.unanswered, .answer(.contradiction), .answer(.status(.pending, held: false)),
    .answer(.status(.identifying, held: false)),
  ])
  func anOutageEndsNothingBeforeItsGrace(event: WatchEvent) {
    let watch = watch { $0.onUnreachable = .logout }
    #expect(watch.next(event, at: Self.start) == .nothing)
    #expect(watch.next(event, at: Self.start + Self.grace - 1) == .nothing)
    #expect(watch.watch.deadline == Self.start + Self.grace)
    #expect(watch.next(event, at: Self.start + Self.grace) == .logout(.unreachable))
  }

  @Test func locksAScreenAtASeatAfterAnOutageByDefault() {
    let watch = watch(canLock: true, atSeat: true)
    _ = watch.next(.unanswered, at: Self.start)
    #expect(watch.next(.nothing, at: Self.start + Self.grace) == .lock(.unreachable))
  }

  @Test func leavesOtherSessionsAloneAfterAnOutageByDefault() {
    let watch = watch()
    _ = watch.next(.unanswered, at: Self.start)
    #expect(watch.next(.nothing, at: Self.start + Self.grace) == .leaveOpen(.unreachable))
    #expect(!watch.watch.isOver)
  }

  @Test func leavesAloneAfterAnOutageWhatCannotLock() {
    let watch = watch { $0.onUnreachable = .lock }
    _ = watch.next(.unanswered, at: Self.start)
    #expect(watch.next(.nothing, at: Self.start + Self.grace) == .leaveOpen(.unreachable))
  }

  @Test func anAnswerEndsTheOutage() {
    let watch = watch { $0.onUnreachable = .logout }
    _ = watch.next(.unanswered, at: Self.start)
    _ = watch.next(says("active"), at: Self.start + Self.grace - 1)
    #expect(watch.next(.unanswered, at: Self.start + Self.grace) == .nothing)
    #expect(watch.watch.unansweredSince == Self.start + Self.grace)
  }

  /// The phone may be back, and the service cannot say so.
  @Test(arguments: [
    WatchEvent.unanswered, .answer(.contradiction), .answer(.unknownSession),
    .answer(.status(.pending, held: false)),
  ])
  func aGracePeriodThatEndsInAnOutageLogsOutOnceTheServiceSaysThatThePhoneIsAway(event: WatchEvent) {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(says("walkaway"), at: Self.start)
    #expect(watch.next(event, at: Self.start + 5_000) == .nothing)
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + 60_000) == .logout(.walkaway))
  }

  /// The service has held a question all the time, and is asked another one. It is out of reach, which nobody noticed.
  @Test func aGracePeriodThatEndsInAnOutageThatIsNotNoticedYetLogsNobodyOut() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(.answer(.status(.walkaway, held: true)), at: Self.start)
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .askAgain)
    #expect(!watch.watch.isHeld)
    #expect(watch.next(.nothing, at: Self.start + 10_001) == .nothing)
    #expect(watch.next(.unanswered, at: Self.start + 25_000) == .nothing)
    #expect(watch.next(.nothing, at: Self.start + 60_000) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + 90_000) == .logout(.walkaway))
  }

  @Test func aPhoneThatIsBackAtTheLastMomentStays() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(says("walkaway"), at: Self.start)
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .askAgain)
    #expect(watch.next(says("active"), at: Self.start + 10_050) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + 60_000) == .warn(milliseconds: 10_000))
    #expect(watch.next(.nothing, at: Self.start + 70_000) == .askAgain)
  }

  /// The expiry is not held up by a question that is not answered.
  @Test func aSessionExpiresWhileItIsAskedAboutAgain() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(says("walkaway"), at: Self.start + 12 * Self.hour)
    #expect(watch.next(.nothing, at: Self.start + 12 * Self.hour + 10_000) == .askAgain)
    #expect(watch.next(.nothing, at: Self.start + 12 * Self.hour + 60_000) == .logout(.expired))
  }

  @Test func aPhoneThatReturnsInAnOutageIsNotLoggedOut() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(says("walkaway"), at: Self.start)
    #expect(watch.next(.unanswered, at: Self.start + 10_000) == .nothing)
    #expect(watch.next(says("active"), at: Self.start + 20_000) == .nothing)
    #expect(watch.watch.awaySince == nil)
  }

  /// A restored service may have forgotten that the phone came back.
  @Test func aGracePeriodDoesNotEndByAServiceThatWentBack() {
    var configuration = Configuration()
    configuration.walkawayGrace = 10
    let watch = WatchSubject(
      SessionWatch(
        policy: WatchPolicy(configuration), canLock: false, isGraphicalAtSeat: false,
        span: Self.start..<Self.start + 12 * Self.hour, endsAtExpiry: true, mark: ServiceMark(epoch: 1, counter: 100),
        note: nil, now: Self.start))
    let away = SessionAnswer.status(.walkaway, held: false)
    _ = watch.next(.answer(away, mark: ServiceMark(epoch: 1, counter: 101)), at: Self.start)
    _ = watch.next(.answer(away, mark: ServiceMark(epoch: 1, counter: 40)), at: Self.start + 5_000)
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .nothing)
    #expect(watch.watch.isPutBack)
  }

  @Test func hearsOfAWalkawayAfterAnOutage() {
    let watch = watch()
    _ = watch.next(.unanswered, at: Self.start)
    _ = watch.next(.nothing, at: Self.start + Self.grace)
    #expect(watch.next(says("walkaway"), at: Self.start + Self.hour) == .logout(.walkaway))
  }
}
