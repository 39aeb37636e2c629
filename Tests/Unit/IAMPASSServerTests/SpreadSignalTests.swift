import Synchronization
import Testing

@testable import IAMPASSServer

/// The signals to all held requests, after messages of other servers may have been lost.
struct SpreadSignalTests {
  private let board = ChangeBoard()
  private let pauses = Pauses()

  /// Pauses that end when the test says so.
  private final class Pauses: Sendable {
    private let begun = Mutex<[@Sendable () -> Void]>([])

    var count: Int { begun.withLock { $0.count } }

    func begin(_ next: @escaping @Sendable () -> Void) { begun.withLock { $0.append(next) } }

    func end() {
      let all = begun.withLock { begun in
        defer { begun = [] }
        return begun
      }
      for next in all { next() }
    }
  }

  private func spread(_ slice: Int, greatestCount: Int = 50) -> ChangeBoard.Spread {
    ChangeBoard.Spread(slice: slice, greatestCount: greatestCount, pause: { [pauses] in pauses.begin($0) })
  }

  private func topic(_ number: Int) -> ChangeBoard.Topic { .session("\(number)") }

  private func held(_ count: Int) -> [ChangeBoard.Watch] { (0..<count).map { board.watch(topic($0)) } }

  /// The places of those that were woken since the last call.
  private func woken(_ watches: [ChangeBoard.Watch]) async -> [Int] {
    var woken: [Int] = []
    for (place, watch) in watches.enumerated() {
      if await watch.wake(milliseconds: 0) == .change { woken.append(place) }
    }
    return woken
  }

  @Test func wakesOneSliceAfterTheOther() async {
    let watches = held(10)
    board.changedAll(over: spread(4))
    #expect(await woken(watches) == Array(0..<4))
    pauses.end()
    #expect(await woken(watches) == Array(4..<8))
    pauses.end()
    #expect(await woken(watches) == [8, 9])
    #expect(pauses.count == 0)
  }

  @Test func wakesFewAtOnce() async {
    let watches = held(3)
    board.changedAll(over: spread(4))
    #expect(await woken(watches) == [0, 1, 2])
    #expect(pauses.count == 0)
  }

  /// Otherwise the last one would wait longer, the more there are.
  @Test func hasAGreatestNumberOfSlices() async {
    let watches = held(20)
    board.changedAll(over: spread(1, greatestCount: 3))
    #expect(await woken(watches) == Array(0..<7))
    pauses.end()
    #expect(await woken(watches) == Array(7..<14))
    pauses.end()
    #expect(await woken(watches) == Array(14..<20))
    #expect(pauses.count == 0)
  }

  @Test func aChangeOfItsOwnTopicWakesAtOnce() async {
    let watches = held(4)
    board.changedAll(over: spread(2))
    let late = board.watch(topic(9))
    board.changed(topic(3))
    board.changed(topic(9))
    #expect(await woken(watches + [late]) == [0, 1, 3, 4])
  }

  @Test func aFurtherCallWakesAllAgainAndDelaysNobody() async {
    let watches = held(6)
    board.changedAll(over: spread(2))
    #expect(await woken(watches) == [0, 1])
    let late = board.watch(topic(9))
    board.changedAll(over: spread(2))
    // There is one wave, not two at the same time.
    #expect(pauses.count == 1)
    for slice in [[2, 3], [4, 5], [0, 1], [6]] {
      pauses.end()
      #expect(await woken(watches + [late]) == slice)
    }
    #expect(pauses.count == 0)
    // The next call begins at once.
    board.changedAll(over: spread(7))
    #expect(await woken(watches + [late]) == Array(0..<7))
  }

  @Test func aStopDoesNotWaitForTheLastSlice() async {
    let watches = held(4)
    board.changedAll(over: spread(2))
    board.stop()
    for (place, watch) in watches.enumerated() {
      #expect(await watch.wake(milliseconds: 600_000) == (place < 2 ? .change : .end))
    }
    pauses.end()
    #expect(await watches[3].wake(milliseconds: 600_000) == .end)
    #expect(pauses.count == 0)
  }

  @Test func whatHasEndedHasNoPlaceInASlice() async {
    var watches = held(4)
    board.changedAll(over: spread(1))
    #expect(await woken(watches) == [0])
    watches.removeSubrange(1...2)
    board.changedAll(over: spread(1))
    for slice in [[1], [0]] {
      pauses.end()
      #expect(await woken(watches) == slice)
    }
    #expect(pauses.count == 0)
  }
}
