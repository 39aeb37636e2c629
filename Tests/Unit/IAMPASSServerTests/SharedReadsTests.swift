import Synchronization
import Testing

@testable import IAMPASSServer

/// One read serves all who ask at the same time.
@Suite struct SharedReadsTests {
  /// Numbers by their names. While it is shut, what was read is not returned.
  private final class Shelf: Sendable {
    private struct State {
      var values: [String: Int] = [:]
      var reads: [[String]] = []
      var isShut = false
      var isBroken = false
      var waiter: CheckedContinuation<Void, Never>?
    }

    struct Broken: Error {}

    private let state = Mutex(State())

    var reads: [[String]] { state.withLock(\.reads) }

    func put(_ value: Int, as id: String) { state.withLock { $0.values[id] = value } }
    func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }
    func shut() { state.withLock { $0.isShut = true } }

    func open() {
      let waiter = state.withLock { state in
        state.isShut = false
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }

    func read(_ ids: [String]) async throws -> [String: Int] {
      let values = state.withLock { state in
        state.reads.append(ids.sorted())
        return state.values.filter { ids.contains($0.key) }
      }
      await withCheckedContinuation { continuation in
        let isShut = state.withLock { state in
          if state.isShut { state.waiter = continuation }
          return state.isShut
        }
        if !isShut { continuation.resume() }
      }
      if state.withLock(\.isBroken) { throw Broken() }
      return values
    }
  }

  /// Begins a read, which does not end before the shelf is opened.
  private func begun(_ reads: SharedReads<Int>, _ shelf: Shelf) async -> Task<Int?, any Error> {
    shelf.shut()
    let first = Task { try await reads.value(of: "a") }
    while shelf.reads.isEmpty { await Task.yield() }
    return first
  }

  private func until(_ count: Int, wait reads: SharedReads<Int>) async {
    while reads.waiting < count { await Task.yield() }
  }

  @Test(.timeLimit(.wholeRun)) func allWhoAskDuringAReadShareTheNextOne() async throws {
    let shelf = Shelf()
    let reads = SharedReads { try await shelf.read($0) }
    shelf.put(7, as: "b")
    let first = await begun(reads, shelf)
    let others = (0..<1_000).map { number in Task { try await reads.value(of: number < 500 ? "b" : "\(number)") } }
    await until(1_000, wait: reads)
    shelf.open()
    #expect(try await first.value == nil)
    for (number, other) in others.enumerated() { #expect(try await other.value == (number < 500 ? 7 : nil)) }
    #expect(shelf.reads.map(\.count) == [1, 501])
    #expect(reads.waiting == 0)
  }

  @Test(.timeLimit(.wholeRun)) func whoeverAsksDuringAReadIsNotAnsweredByIt() async throws {
    let shelf = Shelf()
    let reads = SharedReads { try await shelf.read($0) }
    let first = await begun(reads, shelf)
    shelf.put(7, as: "a")
    let second = Task { try await reads.value(of: "a") }
    await until(1, wait: reads)
    shelf.open()
    #expect(try await first.value == nil)
    #expect(try await second.value == 7)
  }

  @Test(.timeLimit(.wholeRun)) func aReadThatFailsFailsForThoseWhoShareItAlone() async throws {
    let shelf = Shelf()
    let reads = SharedReads { try await shelf.read($0) }
    shelf.put(7, as: "a")
    shelf.setBroken(true)
    await #expect(throws: Shelf.Broken.self) { try await reads.value(of: "a") }
    shelf.setBroken(false)
    #expect(try await reads.value(of: "a") == 7)
  }

  @Test(.timeLimit(.wholeRun)) func aTurnHasABound() async throws {
    let shelf = Shelf()
    let turns = SharedTurns<Int, Int>(greatestCount: 3) { numbers in
      _ = try await shelf.read(numbers.map(String.init))
      return numbers.map { $0 * 2 }
    }
    shelf.shut()
    let first = Task { try await turns.value(of: 0) }
    while shelf.reads.isEmpty { await Task.yield() }
    var others: [Task<Int, any Error>] = []
    for number in 1...7 {
      others.append(Task { try await turns.value(of: number) })
      while turns.waiting < number { await Task.yield() }
    }
    shelf.open()
    #expect(try await first.value == 0)
    for (number, other) in zip(1...7, others) { #expect(try await other.value == number * 2) }
    #expect(shelf.reads == [["0"], ["1", "2", "3"], ["4", "5", "6"], ["7"]])
  }

  @Test(.timeLimit(.wholeRun)) func aTurnThatFailsTogetherFailsAllWhoWait() async throws {
    let shelf = Shelf()
    let turns = SharedTurns<Int, Int>(greatestCount: 1, failsTogether: true) { numbers in
      _ = try await shelf.read(numbers.map(String.init))
      return numbers
    }
    shelf.setBroken(true)
    shelf.shut()
    let first = Task { try await turns.value(of: 0) }
    while shelf.reads.isEmpty { await Task.yield() }
    var others: [Task<Int, any Error>] = []
    for number in 1...3 {
      others.append(Task { try await turns.value(of: number) })
      while turns.waiting < number { await Task.yield() }
    }
    shelf.open()
    for task in [first] + others { await #expect(throws: Shelf.Broken.self) { try await task.value } }
    #expect(shelf.reads == [["0"]])
    shelf.setBroken(false)
    #expect(try await turns.value(of: 4) == 4)
  }
}
