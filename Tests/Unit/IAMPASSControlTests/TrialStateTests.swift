import HostDoctor
import HostSystem
import Testing

@testable import IAMPASSControl

/// What `check` and `status` say of a trial.
@Suite struct TrialStateTests {
  /// 1,000 s after boot.
  private static let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  private static let alice = TrialUser(name: "alice", needsKey: false)

  private func units(
    seconds: Int64 = 600, active: String = "active", sub: String = "waiting", began: String = "900000000",
    words: [String] = []
  ) -> TrialUnits {
    TrialUnits(
      service: Trial.service(["/usr/bin/iampassctl", "trial-end"] + words), timer: Trial.timer(seconds),
      state: UnitState("ActiveState=\(active)\nSubState=\(sub)\nActiveEnterTimestampMonotonic=\(began)\n"),
      now: Self.now)
  }

  @Test func theEndIsTheTimersOwn() {
    #expect(units().left == 500)
    #expect(units(began: "900500000").left == 501)
    // It rings just now.
    #expect(units(seconds: 60, began: "930000000").left == 0)
  }

  @Test func aTimerThatDoesNotRunHasNoEnd() {
    #expect(units(active: "inactive", sub: "dead").left == nil)
    #expect(units(sub: "elapsed").left == nil)
    for began in ["", "0", "-1", "soon", "9223372036854775807"] { #expect(units(began: began).left == nil, "\(began)") }
    #expect(units(seconds: 59).left == nil)
    let edited = TrialUnits(service: "", timer: "", state: UnitState(""), now: Self.now)
    #expect(edited.left == nil)
    #expect(edited.uid == nil)
  }

  @Test func whoHasToSignInIsReadFromTheUnit() {
    #expect(units().uid == nil)
    #expect(units(words: ["--config", "/etc/iampass/iampass.conf", "--uid", "1000"]).uid == 1000)
    #expect(units(words: ["--uid"]).uid == nil)
  }

  @Test func aRunningTrialIsWellAndSaysHowItEnds() throws {
    let waiting = try #require(TrialState.running(left: 500, user: Self.alice, wasUsed: false).finding)
    #expect(waiting.level == .ok)
    #expect(waiting.text == "a trial turns itself off in 8m, unless alice signs in by phone before")
    let used = try #require(TrialState.running(left: 59, user: Self.alice, wasUsed: true).finding)
    #expect(used.text == "a trial ends in 59s, and sign-in by phone stays on: alice has signed in by phone")
    let key = TrialUser(name: "alice", needsKey: true)
    let late = try #require(TrialState.running(left: 59, user: key, wasUsed: false).finding)
    #expect(late.text.hasPrefix("a trial turns itself off in 59s: whether alice's security key"))
  }

  @Test func aTrialThatHasEndedIsAWarningAndOneThatCannotEndAProblem() throws {
    #expect(TrialState.none.finding == nil)
    let ended = try #require(TrialState.ended(at: 1_795_000_000).finding)
    #expect(ended.level == .warning)
    #expect(ended.text.hasPrefix("a trial ended (2026-"))
    #expect(ended.hint == "iampassctl enable, or iampassctl disable if it is to stay off")
    #expect(TrialState.ended(at: nil).finding?.text.hasPrefix("a trial ended and switched") ?? false)
    #expect(TrialState.overdue.finding?.level == .problem)
  }
}
