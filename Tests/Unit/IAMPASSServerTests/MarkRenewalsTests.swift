import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// All computers connect again after a restart of the service. Their marks are stored in few steps.
@Suite struct MarkRenewalsTests {
  /// A storage whose first step ends only when it is told to.
  private final class SlowStorage: CloneDetectorStore {
    private struct State {
      var steps: [Int] = []
      var alone = 0
      var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var steps: [Int] { state.withLock(\.steps) }
    var alone: Int { state.withLock(\.alone) }

    func goOn() {
      state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }?.resume()
    }

    func isForked(_ credential: String) async throws -> Bool { false }
    func isKnown(_ sighting: ComputerMarkSighting) async throws -> Bool { sighting.mark == "known" }

    func renew(_ sightings: [ComputerMarkSighting]) async throws -> [CloneDetector.Finding?] {
      await withCheckedContinuation { continuation in
        let isFirst = state.withLock { state in
          state.steps.append(sightings.count)
          guard state.steps.count == 1 else { return false }
          state.waiter = continuation
          return true
        }
        if !isFirst { continuation.resume() }
      }
      return sightings.map { $0.mark == "copy" ? nil : .renewed }
    }

    func record(_ sighting: ComputerMarkSighting) async throws -> CloneDetector.Finding {
      state.withLock { $0.alone += 1 }
      return .forked(isNews: true)
    }

    func clonedComputers(of application: String) async throws -> [ClonedComputer] { [] }
    func settleComputer(named name: String, of application: String, at now: UnixTime) async throws -> Bool { false }
  }

  private func sighting(_ mark: String) -> ComputerMarkSighting {
    ComputerMarkSighting(
      credential: "c", mark: mark, former: nil, address: nil, signedAt: 0, at: UnixTime(milliseconds: 0))
  }

  @Test(.timeLimit(.wholeRun)) func fiveHundredComputersTakeFewSteps() async throws {
    let storage = SlowStorage()
    let marks = MarkRenewals(storage)
    let first = Task { try await marks.record(sighting("first")) }
    while storage.steps.isEmpty { await Task.yield() }
    let others = (0..<500).map { _ in Task { try await marks.record(sighting("next")) } }
    while marks.waiting < 500 { await Task.yield() }
    // Whoever has nothing to store does not wait for those who have.
    #expect(try await marks.record(sighting("known")) == .known)
    storage.goOn()
    #expect(try await first.value == .renewed)
    for other in others { #expect(try await other.value == .renewed) }
    #expect(storage.steps == [1] + Array(repeating: 32, count: 15) + [20])
    #expect(storage.alone == 0)
  }

  @Test(.timeLimit(.wholeRun)) func aCopyIsNotedAlone() async throws {
    let storage = SlowStorage()
    let marks = MarkRenewals(storage)
    let copy = Task { try await marks.record(sighting("copy")) }
    while storage.steps.isEmpty { await Task.yield() }
    storage.goOn()
    #expect(try await copy.value == .forked(isNews: true))
    #expect(storage.alone == 1)
  }
}
