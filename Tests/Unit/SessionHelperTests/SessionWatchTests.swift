import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// The value under test. `#expect` accepts no mutating call.
private final class Subject {
  var watch: SessionWatch

  init(_ watch: SessionWatch) { self.watch = watch }

  func next(_ event: WatchEvent, at now: Int64) -> WatchAction { watch.next(event, at: now) }
}

private final class Crowd {
  private var massEnd = MassEndGuard()
  private var endedUsers: UInt32 = 0

  /// This many users each, all different.
  func allows(ending: Int, doubted: Int, sound: Int, at now: Int64) -> Bool {
    let users = Set(endedUsers..<endedUsers + UInt32(ending))
    endedUsers += UInt32(ending)
    defer { massEnd.count(users, at: now) }
    return massEnd.allows(
      ending: users, doubted: Set(1_000..<1_000 + UInt32(doubted)), sound: Set(2_000..<2_000 + UInt32(sound)), at: now)
  }
}

/// The whole table: what a watched session learns, and what is done. Times are in milliseconds.
@Suite struct SessionWatchTests {
  private static let start: Int64 = 1_000_000
  private static let hour: Int64 = 3_600_000

  private func watch(
    canLock: Bool = false, atSeat: Bool = false, endsAtExpiry: Bool = true, hours: Int64 = 12, note: WatchNote? = nil,
    _ change: (inout Configuration) -> Void = { _ in }
  ) -> Subject {
    var configuration = Configuration()
    change(&configuration)
    return Subject(
      SessionWatch(
        policy: WatchPolicy(configuration), canLock: canLock, isGraphicalAtSeat: atSeat,
        span: Self.start..<Self.start + hours * Self.hour, endsAtExpiry: endsAtExpiry, note: note, now: Self.start))
  }

  private func says(_ word: String) -> WatchEvent { .answer(.status(SessionStatus(word: word), held: false)) }

  /// The actions after each of these events, one second apart.
  private func actions(_ watch: Subject, _ events: [WatchEvent]) -> [WatchAction] {
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
    #expect(watch.next(.nothing, at: Self.start + 10_000) == .logout(.walkaway))
  }

  @Test func forgetsTheGracePeriodWhenThePhoneIsBack() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = actions(watch, [says("walkaway"), says("active")])
    #expect(watch.watch.deadline == Self.start + 12 * Self.hour - 600_000)
    #expect(watch.next(.nothing, at: Self.start + Self.hour) == .nothing)
    #expect(watch.next(says("walkaway"), at: Self.start + Self.hour) == .warn(milliseconds: 10_000))
  }

  @Test func logsOutAfterTheGracePeriodThoughTheServiceHasGoneSilent() {
    let watch = watch { $0.walkawayGrace = 10 }
    _ = watch.next(says("walkaway"), at: Self.start)
    #expect(watch.next(.unanswered, at: Self.start + 10_000) == .logout(.walkaway))
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

  @Test func beginsToCountAnewAfterTheServiceKnewIt() {
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

  // MARK: expired

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
    let watch = Subject(
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

  // MARK: cannot be asked

  private static let grace: Int64 = 900_000

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

  @Test func hearsOfAWalkawayAfterAnOutage() {
    let watch = watch()
    _ = watch.next(.unanswered, at: Self.start)
    _ = watch.next(.nothing, at: Self.start + Self.grace)
    #expect(watch.next(says("walkaway"), at: Self.start + Self.hour) == .logout(.walkaway))
  }

  // MARK: sleep and restart

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

  @Test func aSleepIsNoOutage() {
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

  @Test func oneForgottenAnswerAfterASleepIsNoReasonToActOnAnOldWalkaway() {
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
    #expect(watch.next(.nothing, at: Self.start + 1_800_000) == .logout(.walkaway))
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

  @Test func theTimeWithoutAHelperIsNoOutage() {
    let note = WatchNote(status: .active, since: 1, unansweredSince: 1)
    let after = watch(note: note) { $0.onUnreachable = .logout }
    #expect(after.next(.unanswered, at: Self.start + Self.grace - 1) == .nothing)
  }

  // MARK: left aside

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

@Suite struct MassEndGuardTests {
  @Test func oneOfManyMayEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 1, doubted: 0, sound: 199, at: 0))
  }

  @Test func allOfManyMayNot() {
    let massEnd = Crowd()
    #expect(!massEnd.allows(ending: 200, doubted: 0, sound: 0, at: 0))
  }

  @Test func fewerThanFiveMayAllEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 4, doubted: 0, sound: 0, at: 0))
  }

  @Test func justHalfMayEnd() {
    let massEnd = Crowd()
    #expect(massEnd.allows(ending: 5, doubted: 0, sound: 5, at: 0))
  }

  @Test func doubtsCountWithTheEnds() {
    let massEnd = Crowd()
    #expect(!massEnd.allows(ending: 1, doubted: 5, sound: 5, at: 0))
  }

  @Test func endsOfTheLastMinuteCount() {
    let massEnd = Crowd()
    for second in 0..<5 { #expect(massEnd.allows(ending: 1, doubted: 0, sound: 9 - second, at: Int64(second))) }
    #expect(!massEnd.allows(ending: 1, doubted: 0, sound: 4, at: 59_000))
  }

  @Test func manySessionsOfOneUserAreNoCrowd() {
    let massEnd = MassEndGuard()
    #expect(massEnd.allows(ending: [7], doubted: [7], sound: [], at: 0))
    #expect(massEnd.allows(ending: [1, 2, 3, 4], doubted: [1, 2], sound: [], at: 0))
  }

  @Test func whoeverHasAnEndedSessionIsNotSoundByAnother() {
    let massEnd = MassEndGuard()
    #expect(!massEnd.allows(ending: [1, 2, 3, 4, 5], doubted: [], sound: [1, 2, 3, 4, 5, 6], at: 0))
  }

  @Test func endsOfEarlierDoNot() {
    let massEnd = Crowd()
    for second in 0..<5 { _ = massEnd.allows(ending: 1, doubted: 0, sound: 9 - second, at: Int64(second)) }
    #expect(massEnd.allows(ending: 1, doubted: 0, sound: 4, at: 70_000))
  }
}
