import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// The whole table: what a watched session learns, and what is done. Times are in milliseconds.
@Suite struct SessionWatchTests {
  static let start: Int64 = 1_000_000
  static let hour: Int64 = 3_600_000

  func watch(
    canLock: Bool = false, atSeat: Bool = false, endsAtExpiry: Bool = true, hours: Int64 = 12, note: WatchNote? = nil,
    _ change: (inout Configuration) -> Void = { _ in }
  ) -> WatchSubject {
    var configuration = Configuration()
    change(&configuration)
    return WatchSubject(
      SessionWatch(
        policy: WatchPolicy(configuration), canLock: canLock, isGraphicalAtSeat: atSeat,
        span: Self.start..<Self.start + hours * Self.hour, endsAtExpiry: endsAtExpiry, note: note, now: Self.start))
  }

  func says(_ word: String) -> WatchEvent { .answer(.status(SessionStatus(word: word), held: false)) }

  /// The actions after each of these events, one second apart.
  func actions(_ watch: WatchSubject, _ events: [WatchEvent]) -> [WatchAction] {
    events.enumerated().map { watch.next($1, at: Self.start + Int64($0) * 1_000) }
  }

  // MARK: active

  @Test func doesNothingWhileActive() {
    let watch = watch()
    #expect(actions(watch, [says("active"), .nothing, says("active")]) == [.nothing, .nothing, .nothing])
    #expect(watch.watch.deadline == Self.start + 12 * Self.hour - 600_000)
  }

  // MARK: walkaway

  @Test func logsOutAtOnceWhenThePhoneLeaves() {
    let watch = watch()
    #expect(actions(watch, [says("active"), says("walkaway")]) == [.nothing, .logout(.walkaway)])
  }

  @Test func warnsAndWaitsWhereThereIsAGracePeriod() {
    let watch = watch { $0.walkawayGrace = 10 }
    #expect(watch.next(says("walkaway"), at: Self.start) == .warn(milliseconds: 10_000))
    #expect(watch.watch.deadline == Self.start + 10_000)
    #expect(watch.next(says("walkaway"), at: Self.start + 9_999) == .nothing)
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .askAgain)
    #expect(watch.next(says("walkaway"), at: Self.start + 10_050) == .logout(.walkaway))
  }

  @Test func forgetsTheGracePeriodWhenThePhoneIsBack() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = actions(watch, [says("walkaway"), says("active")])
    #expect(watch.watch.deadline == Self.start + 12 * Self.hour - 600_000)
    #expect(watch.next(.nothing, at: Self.start + Self.hour) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + Self.hour) == .warn(milliseconds: 10_000))
  }

  @Test func locksAScreenWhereThatIsConfigured() {
    let watch = watch(canLock: true) { $0.onWalkaway = .lock }
    #expect(watch.next(says("walkaway"), at: Self.start) == .lock(.walkaway))
  }

  @Test func logsOutWhatCannotLock() {
    let watch = watch { $0.onWalkaway = .lock }
    #expect(watch.next(says("walkaway"), at: Self.start) == .logout(.walkaway))
  }

  @Test func leavesOpenWhereWalkawayIsIgnored() {
    let watch = watch { $0.onWalkaway = .ignore }
    #expect(watch.next(says("walkaway"), at: Self.start) == .leaveOpen(.walkaway))
    #expect(!watch.watch.isOver)
  }

  @Test func locksOnceForOneWalkaway() {
    let watch = watch(canLock: true) { $0.onWalkaway = .lock }
    let all = actions(watch, [says("walkaway"), says("walkaway"), .nothing, says("active"), says("walkaway")])
    #expect(all == [.lock(.walkaway), .nothing, .nothing, .nothing, .lock(.walkaway)])
  }

  @Test func endsALockedSessionThatTheServiceEnds() {
    let watch = watch(canLock: true) { $0.onWalkaway = .lock }
    #expect(actions(watch, [says("walkaway"), says("closed")]) == [.lock(.walkaway), .logout(.ended)])
  }

  // MARK: ended

  @Test(arguments: ["closed", "failed", "cancelled", "timeout", "gone-fishing", "Active", ""])
  func logsOutAtOnceAtAnEndOrAnUnknownWord(word: String) {
    let watch = watch()
    #expect(actions(watch, [says("active"), says(word)]) == [.nothing, .logout(.ended)])
    #expect(watch.watch.isOver)
    #expect(watch.next(says(word), at: Self.start + 5_000) == .nothing)
  }

  @Test func locksAtAnEndWhereThatIsConfigured() {
    let watch = watch(canLock: true) { $0.onEnd = .lock }
    #expect(watch.next(says("closed"), at: Self.start) == .lock(.ended))
  }

  @Test func leavesOpenAtAnEndWhereThatIsConfigured() {
    let watch = watch { $0.onEnd = .ignore }
    #expect(watch.next(says("closed"), at: Self.start) == .leaveOpen(.ended))
    #expect(watch.watch.isOver)
  }

  // MARK: not known to the service

  @Test func logsOutWhenTheServiceHasForgottenTheSessionThreeTimesInAMinute() {
    let watch = watch()
    #expect(watch.next(.answer(.unknownSession), at: Self.start) == .nothing)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + 30_000) == .nothing)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + 60_000) == .logout(.forgotten))
  }

  @Test func doesNotCountFasterThanAMinute() {
    let watch = watch()
    for step in 0..<59 {
      #expect(watch.next(.answer(.unknownSession), at: Self.start + Int64(step) * 1_000) == .nothing)
    }
  }

  @Test func doesNotCountTwoOverAnyTime() {
    let watch = watch()
    _ = watch.next(.answer(.unknownSession), at: Self.start)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + Self.hour) == .nothing)
  }

  @Test func beginsToCountAgainAfterTheServiceKnewIt() {
    let watch = watch()
    _ = watch.next(.answer(.unknownSession), at: Self.start)
    _ = watch.next(.answer(.unknownSession), at: Self.start + 30_000)
    _ = watch.next(says("active"), at: Self.start + 40_000)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + 60_000) == .nothing)
    #expect(watch.watch.isDoubted)
  }

  @Test func doesNotCountAnOutageAsForgetting() {
    let watch = watch()
    _ = watch.next(.answer(.unknownSession), at: Self.start)
    _ = watch.next(.unanswered, at: Self.start + 30_000)
    _ = watch.next(.unanswered, at: Self.start + 45_000)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + 60_000) == .nothing)
  }
}
