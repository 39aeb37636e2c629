import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// When the session's time is over.
extension SessionWatchTests {
  @Test func logsOutAnExpiredSessionThatCannotLock() {
    let watch = watch()
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour) == .logout(.expired))
    #expect(watch.watch.isOver)
  }

  /// The user was told that the session stays.
  @Test func letsASessionFromBeforeAnUpgradeStay() {
    let watch = watch(endsAtExpiry: false)
    #expect(watch.watch.deadline == nil)
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour) == .leaveOpen(.expired))
    #expect(watch.watch.isOver)
  }

  @Test func warnsOnceTenMinutesBeforeTheEnd() {
    let watch = watch()
    let time = Self.start + 12 * Self.hour - 600_000
    #expect(watch.next(.nothing, at: time - 1) == .nothing)
    #expect(watch.next(.nothing, at: time) == .warnOfExpiry(milliseconds: 600_000))
    #expect(watch.next(.nothing, at: time + 1) == .nothing)
    let after = self.watch(note: watch.watch.note(remark: ""))
    #expect(after.next(.nothing, at: time + 2) == .nothing)
  }

  @Test func warnsAShortSessionAtItsHalf() {
    let watch = WatchSubject(
      SessionWatch(
        policy: WatchPolicy(Configuration()), canLock: false, isGraphicalAtSeat: false,
        span: Self.start..<Self.start + 60_000, endsAtExpiry: true, note: nil, now: Self.start))
    #expect(watch.watch.deadline == Self.start + 30_000)
  }

  @Test(arguments: [Configuration.EndAction.lock, .ignore])
  func warnsNobodyWhoIsNotLoggedOut(action: Configuration.EndAction) {
    let watch = watch(canLock: true) { $0.onExpiry = action }
    #expect(watch.next(.nothing, at: Self.start + 12 * Self.hour) == .nothing)
  }

  /// Otherwise a user who cuts the network would stay signed in for ever.
  @Test(arguments: [WatchEvent.unanswered, .nothing])
  func theTimeIsOverByOurOwnClockToo(event: WatchEvent) {
    let watch = watch()
    _ = watch.next(says("active"), at: Self.start)
    _ = watch.next(.nothing, at: Self.start + 12 * Self.hour - 600_000)
    let end = Self.start + 12 * Self.hour + SessionWatch.expirySlack
    #expect(watch.next(event, at: end - 1) == .nothing)
    #expect(watch.next(event, at: end) == .logout(.expired))
  }

  @Test func anExpiryThatIsIgnoredNeedsNoClock() {
    let watch = watch { $0.onExpiry = .ignore }
    #expect(watch.watch.deadline == nil)
    #expect(watch.next(says("active"), at: Self.start + 13 * Self.hour) == .nothing)
    #expect(!watch.watch.isOver)
  }

  @Test func locksAnExpiredSessionThatCan() {
    let watch = watch(canLock: true)
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour) == .lock(.expired))
  }

  @Test func takesAnEndJustBeforeTheTimeIsOutForItsExpiry() {
    let watch = watch()
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour - 59_000) == .logout(.expired))
  }

  @Test func takesAnEndLongBeforeForAnEnd() {
    let watch = watch()
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour - 61_000) == .logout(.ended))
  }

  @Test func logsOutAnExpiredSessionWhereThatIsConfigured() {
    let watch = watch { $0.onExpiry = .logout }
    #expect(watch.next(says("closed"), at: Self.start + 13 * Self.hour) == .logout(.expired))
  }
}
