import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// What was left alone, because it ended together with too many others.
extension SessionWatchTests {
  @Test func leavesAsideUntilTheServiceSaysThatItLives() {
    let watch = watch()
    _ = watch.next(says("closed"), at: Self.start)
    watch.watch.leaveAside(at: Self.start)
    #expect(watch.next(says("closed"), at: Self.start + 60_000) == .logout(.ended))
    #expect(watch.watch.isLeftAside)
    watch.watch.leaveAside(at: Self.start + 60_000)
    #expect(watch.next(says("active"), at: Self.start + 120_000) == .nothing)
    #expect(!watch.watch.isLeftAside)
    #expect(watch.next(says("closed"), at: Self.start + 180_000) == .logout(.ended))
  }

  @Test func anOutageDoesNotSettleWhatWasLeftAside() {
    let watch = watch()
    _ = watch.next(says("closed"), at: Self.start)
    watch.watch.leaveAside(at: Self.start)
    _ = watch.next(.unanswered, at: Self.start + 1_000)
    #expect(watch.next(.nothing, at: Self.start + Self.grace + 1_000) == .leaveOpen(.unreachable))
    #expect(watch.watch.isLeftAside)
  }

  @Test(arguments: [60, 0] as [Int64])
  func aWalkawayFromBeforeDoesNotEndWhatIsLeftAside(grace: Int64) {
    let watch = watch(canLock: true) {
      $0.walkawayGrace = grace
      $0.onWalkaway = .lock
    }
    _ = watch.next(says("walkaway"), at: Self.start)
    for minute: Int64 in 0..<3 {
      let time = Self.start + 10_000 + minute * 60_000
      #expect(watch.next(says("closed"), at: time) == .logout(.ended))
      watch.watch.leaveAside(at: time)
      #expect(watch.next(.nothing, at: time + 59_000) == .nothing)
    }
    #expect(watch.next(says("walkaway"), at: Self.start + 300_000) == .lock(.walkaway))
  }

  @Test func leavesAsideOverARestart() {
    let before = watch()
    _ = before.next(says("closed"), at: Self.start)
    before.watch.leaveAside(at: Self.start)
    let after = watch(note: before.watch.note(remark: ""))
    #expect(after.watch.leftAsideSince == Self.start)
  }

  @Test func leavesAsideWhatTheVersionBeforeLeftAside() {
    let text = #"{"version":1,"status":"closed","since":7,"handled":"left_aside","asking":"polling","remark":""}"#
    let note = WatchNote(parsing: Array(text.utf8))
    #expect(watch(note: note).watch.leftAsideSince == 7_000)
  }
}
