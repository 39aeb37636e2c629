import HostSystem
import IAMPASSClient
import Testing

@testable import SessionHelper
@testable import WorkerLink

@Suite struct BusPauseTests {
  private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

  @Test func theFirstTryIsAtOnce() {
    #expect(BusPause().isOver(at: at(0)))
  }

  @Test func pausesGrowUpToHalfAMinute() {
    var pause = BusPause()
    var lengths: [Int64] = []
    for _ in 0..<9 {
      pause.begin(at: at(1_000))
      lengths.append(pause.end?.milliseconds(since: at(1_000)) ?? 0)
    }
    #expect(lengths == [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  }

  @Test func aPauseIsOverAtItsEnd() {
    var pause = BusPause()
    pause.begin(at: at(1_000))
    #expect(!pause.isOver(at: at(1_249)))
    #expect(pause.isOver(at: at(1_250)))
  }

  @Test func anAnswerMakesTheNextPauseShortAgain() {
    var pause = BusPause()
    pause.begin(at: at(0))
    pause.begin(at: at(0))
    pause.reset()
    pause.begin(at: at(0))
    #expect(pause.end == at(250))
  }
}
