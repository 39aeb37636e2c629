import PresenceLink
import SessionHelper
import Testing

private let usual = PresencePolicy(interval: 20_000, grace: 30_000, unknownGrace: 300_000)
private let off = ProbeAnswer.unknown("ENODEV")

/// Plays looks one after the other as the helper does, each taking as long as it would.
private struct Play {
  var watch: BluetoothWatch
  var now: Int64 = 1_000_000
  var log: [(event: PresenceEvent, at: Int64)] = []

  init(_ policy: PresencePolicy = usual, isArmed: Bool = false) {
    watch = BluetoothWatch(policy: policy, isArmed: isArmed)
  }

  var events: [PresenceEvent] { log.map(\.event) }

  mutating func look(_ answers: ProbeAnswer...) {
    let began = now
    now += answers.contains(.silent) ? 5_100 : 30
    log += watch.look(answers, ended: now).map { ($0, now) }
    now = watch.nextProbe(began: began, ended: now + 2_500)
  }

  /// Looks until the phone counts as gone or nobody knows, at most for an hour.
  mutating func look(_ answers: ProbeAnswer..., until event: PresenceEvent) {
    let end = now + 3_600_000
    var turn = 0
    while !events.contains(event), now < end {
      look(answers[turn % answers.count])
      turn += 1
    }
  }
}

@Suite struct BluetoothWatchTests {
  @Test func silenceBeforeTheFirstAnswerConcludesNothing() {
    var play = Play()
    for answer in [ProbeAnswer.silent, off, .impostor, .silent, off] { for _ in 0..<50 { play.look(answer) } }
    #expect(play.events.isEmpty)
    #expect(play.watch.phase == .unarmed)
    #expect(!play.watch.isArmed)
  }

  @Test func aPhoneThatGoesIsDoubtedThenWarnedOfThenGone() throws {
    var play = Play()
    play.look(.near)
    let gone = play.now
    play.look(.silent, until: .left)
    #expect(play.events.count == 4)
    #expect(play.events.prefix(2) == [.found, .doubted])
    guard case .warned(let left)? = play.events.dropFirst(2).first else { throw Failure("no warning") }
    #expect((0...10_000).contains(left))
    #expect(play.events.last == .left)
    // It went right after a look: 20 s to the next one are in `gone` already.
    let took = try #require(play.log.last).at - gone
    #expect((35_000...43_000).contains(took))
  }

  @Test func anAnswerCallsItOffAtAnyTime() {
    var play = Play()
    play.look(.near)
    for _ in 0..<20 {
      for _ in 0..<4 { play.look(.silent) }
      play.look(.near)
    }
    #expect(!play.events.contains(.left))
    #expect(play.watch.phase == .armed)
  }

  @Test(arguments: [0, 1_000, 30_000, 120_000] as [Int64])
  func thereAreThreeMissesAtLeastAndTheyLastTheGrace(grace: Int64) {
    var play = Play(PresencePolicy(interval: 20_000, grace: grace, unknownGrace: 300_000))
    play.look(.near)
    var misses = 0
    var first: Int64 = 0
    while !play.events.contains(.left), misses < 1_000 {
      play.look(.silent)
      misses += 1
      if misses == 1 { first = play.now }
    }
    #expect(misses >= 3)
    #expect(play.now - first >= grace)
  }

  /// The user was told that no time was left, and had ten seconds.
  @Test(arguments: [0, 3_000] as [Int64])
  func theWarningCountsTheMissesThatAreStillToCome(grace: Int64) {
    var play = Play(PresencePolicy(interval: 20_000, grace: grace, unknownGrace: 300_000))
    play.look(.near)
    play.look(.silent)
    #expect(play.events == [.found, .doubted, .warned(milliseconds: 10_000)])
  }

  @Test func anImpostorIsAMiss() {
    var play = Play()
    play.look(.near)
    play.look(.impostor, until: .left)
    #expect(play.events.last == .left)
  }

  @Test func ignorancePausesTheCountAndEndsInBlindness() {
    var play = Play()
    play.look(.near)
    play.look(.silent)
    play.look(.silent)
    let began = play.now
    play.look(off, until: .blinded)
    #expect(play.events.last == .blinded)
    #expect(!play.events.contains(.left))
    #expect((300_000...330_000).contains(play.now - began))
    #expect(play.watch.phase == .blind)
  }

  @Test func aWarningComesBeforeBlindness() {
    var play = Play()
    play.look(.near)
    play.look(off, until: .blinded)
    let warnings = play.events.dropLast().compactMap { event -> Int64? in
      if case .warnedOfBlindness(let left) = event { left } else { nil }
    }
    #expect(warnings.count == 1)
    #expect(warnings.allSatisfy { (0...10_000).contains($0) })
  }

  @Test func theTwoInTurnEndInOneOfThemInTime() {
    var play = Play()
    play.look(.near)
    let began = play.now
    while play.watch.phase != .left, play.watch.phase != .blind, play.now - began < 3_600_000 {
      play.look(.silent)
      play.look(off)
    }
    #expect(play.now - began <= 30_000 + 300_000 + 30_000)
  }

  @Test func whoeverIsGoneIsSaidToBeGoneOnceUntilTheyAreBack() {
    var play = Play()
    play.look(.near)
    play.look(.silent, until: .left)
    for _ in 0..<100 { play.look(.silent) }
    for _ in 0..<100 { play.look(off) }
    #expect(play.events.filter { $0 == .left }.count == 1)
    #expect(!play.events.contains(.blinded))
    play.look(.near)
    #expect(play.events.last == .found)
    play.log = []
    play.look(.silent, until: .left)
    #expect(play.events.last == .left)
  }

  @Test func whoeverWasOutOfSightCanStillLeave() {
    var play = Play()
    play.look(.near)
    play.look(off, until: .blinded)
    play.look(.silent, until: .left)
    #expect(play.events.last == .left)
  }

  @Test func oneOfTwoPhonesIsEnough() {
    var play = Play()
    for _ in 0..<100 { play.look(.silent, .near) }
    #expect(play.watch.phase == .armed)
    for _ in 0..<3 { play.look(.silent, off) }
    #expect(play.watch.phase == .doubtful)
    // One phone may be in the pocket of which nothing is known: they count as out of sight, and not as gone.
    while play.watch.phase == .doubtful { play.look(.silent, off) }
    #expect(play.watch.phase == .blind)
  }

  @Test func afterASleepItIsCountedAgain() {
    var play = Play()
    play.look(.near)
    for _ in 0..<3 { play.look(.silent) }
    play.watch.resume()
    play.now += 8 * 3_600_000
    play.look(.silent)
    play.look(.silent)
    #expect(!play.events.contains(.left))
    play.look(.silent, until: .left)
    #expect(play.events.last == .left)
  }

  @Test func aGapThatNobodyTellsOfIsCountedAgainToo() {
    for gap in [-1_000, 151_000, 8 * 3_600_000] as [Int64] {
      var play = Play()
      play.look(.near)
      for _ in 0..<4 { play.look(.silent) }
      play.now += gap
      play.look(.silent)
      #expect(!play.events.contains(.left), "\(gap)")
    }
  }

  @Test func aRestartKeepsThatThePhoneHadAnswered() {
    var play = Play(isArmed: true)
    play.look(.silent, until: .left)
    #expect(play.events.last == .left)
  }

  private struct Failure: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }
}
