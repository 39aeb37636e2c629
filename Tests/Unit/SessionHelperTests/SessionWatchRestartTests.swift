import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// After the machine slept, or another helper began.
extension SessionWatchTests {
  @Test func asksBeforeItActsOnAWalkawayFromBeforeASleep() {
    let watch = watch { $0.walkawayGrace = 60 }
    _ = watch.next(says("walkaway"), at: Self.start)
    _ = watch.next(.resumed, at: Self.start + Self.hour)
    #expect(watch.next(.nothing, at: Self.start + Self.hour) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + Self.hour + 500) == .logout(.walkaway))
  }

  @Test func aWalkawayFromBeforeASleepIsNotActedOnWhileTheServiceIsSilent() {
    let watch = watch { $0.walkawayGrace = 60 }
    _ = watch.next(says("walkaway"), at: Self.start)
    _ = watch.next(.resumed, at: Self.start + Self.hour)
    _ = watch.next(.unanswered, at: Self.start + Self.hour)
    #expect(watch.next(.nothing, at: Self.start + Self.hour + Self.grace) == .leaveOpen(.unreachable))
  }

  @Test func aSleepIsNotAnOutage() {
    let watch = watch { $0.onUnreachable = .logout }
    _ = watch.next(.unanswered, at: Self.start)
    _ = watch.next(.resumed, at: Self.start + 8 * Self.hour)
    #expect(watch.next(.unanswered, at: Self.start + 8 * Self.hour + 1_000) == .nothing)
  }

  @Test func doesNotLockAgainAfterARestart() {
    let before = watch(canLock: true) { $0.onWalkaway = .lock }
    _ = before.next(says("walkaway"), at: Self.start)
    before.watch.lockIsSettled()
    let after = watch(canLock: true, note: before.watch.note(remark: "")) { $0.onWalkaway = .lock }
    #expect(after.next(says("walkaway"), at: Self.start + 1_000) == .nothing)
  }

  @Test func locksAfterARestartInTheMidstOfLocking() {
    let before = watch(canLock: true) { $0.onWalkaway = .lock }
    _ = before.next(says("walkaway"), at: Self.start)
    let after = watch(canLock: true, note: before.watch.note(remark: "")) { $0.onWalkaway = .lock }
    #expect(after.next(says("walkaway"), at: Self.start + 1_000) == .lock(.walkaway))
  }

  @Test(arguments: ["walkaway", "closed"])
  func logsOutAfterARestartWhatWasDecidedBefore(word: String) {
    let before = watch()
    let step = before.next(says(word), at: Self.start)
    let after = watch(note: before.watch.note(remark: ""))
    #expect(after.next(says(word), at: Self.start + 1_000) == step)
  }

  @Test func followsAChangedPolicyAfterARestart() {
    let before = watch { $0.onWalkaway = .ignore }
    #expect(before.next(says("walkaway"), at: Self.start) == .leaveOpen(.walkaway))
    let after = watch(note: before.watch.note(remark: ""))
    #expect(after.next(says("walkaway"), at: Self.start + 1_000) == .logout(.walkaway))
  }

  @Test func oneForgottenAnswerAfterASleepDoesNotActOnAnOldWalkaway() {
    let watch = watch { $0.walkawayGrace = 60 }
    _ = watch.next(says("walkaway"), at: Self.start)
    _ = watch.next(.resumed, at: Self.start + Self.hour)
    #expect(watch.next(.answer(.unknownSession), at: Self.start + Self.hour) == .nothing)
    #expect(watch.next(.nothing, at: Self.start + Self.hour + 1) == .nothing)
  }

  @Test func anOutageDoesNotSwallowALongGracePeriod() {
    let watch = watch { $0.walkawayGrace = 1_800 }
    _ = watch.next(says("walkaway"), at: Self.start)
    _ = watch.next(.unanswered, at: Self.start + 1_000)
    #expect(watch.next(.nothing, at: Self.start + Self.grace + 1_000) == .leaveOpen(.unreachable))
    #expect(watch.next(says("walkaway"), at: Self.start + 1_799_999) == .nothing)
    #expect(watch.next(.nothing, at: Self.start + 1_800_000) == .askAgain)
    #expect(watch.next(says("walkaway"), at: Self.start + 1_800_050) == .logout(.walkaway))
  }

  @Test func anIgnoredWalkawayDoesNotSwallowAnOutage() {
    let watch = watch {
      $0.onWalkaway = .ignore
      $0.onUnreachable = .logout
    }
    _ = watch.next(says("walkaway"), at: Self.start)
    _ = watch.next(.unanswered, at: Self.start + 1_000)
    #expect(watch.next(.nothing, at: Self.start + Self.grace + 1_000) == .logout(.unreachable))
  }

  @Test func anExpiryCountsThoughTheSessionWasLeftAside() {
    let watch = watch { $0.onExpiry = .logout }
    _ = watch.next(says("closed"), at: Self.start)
    watch.watch.leaveAside(at: Self.start)
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour) == .logout(.expired))
  }

  @Test func anExpiryThatNothingIsDoneAboutDoesNotSettleWhatWasLeftAside() {
    let watch = watch { $0.onExpiry = .ignore }
    _ = watch.next(says("closed"), at: Self.start)
    watch.watch.leaveAside(at: Self.start)
    #expect(watch.next(says("closed"), at: Self.start + 12 * Self.hour) == .logout(.ended))
    watch.watch.leaveAside(at: Self.start + 12 * Self.hour)
    #expect(watch.watch.leftAsideSince == Self.start)
    #expect(!watch.watch.isOver)
  }

  @Test func goesOnWithTheGracePeriodAfterARestart() {
    let before = watch { $0.walkawayGrace = 10 }
    _ = before.next(says("walkaway"), at: Self.start)
    let after = watch(note: before.watch.note(remark: "")) { $0.walkawayGrace = 10 }
    #expect(after.next(.nothing, at: Self.start + 20_000) == .nothing)
    #expect(after.next(says("walkaway"), at: Self.start + 20_000) == .logout(.walkaway))
  }

  @Test func theTimeWithoutAHelperIsNotAnOutage() {
    let note = WatchNote(status: .active, since: 1, unansweredSince: 1)
    let after = watch(note: note) { $0.onUnreachable = .logout }
    #expect(after.next(.unanswered, at: Self.start + Self.grace - 1) == .nothing)
  }
}
