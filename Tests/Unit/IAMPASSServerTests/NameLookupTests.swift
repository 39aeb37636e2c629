import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import IAMPASSServer

/// A name server that does not answer until it is told to.
private final class SilentNames: Sendable {
  private let state = Mutex((isSilent: true, asked: 0, most: 0))

  var asked: Int { state.withLock { $0.asked } }
  var mostAtOnce: Int { state.withLock { $0.most } }

  func speak() { state.withLock { $0.isSilent = false } }

  func ask() {
    state.withLock {
      $0.asked += 1
      $0.most = max($0.most, $0.asked)
    }
    while state.withLock({ $0.isSilent }) { usleep(1_000) }
    state.withLock { $0.asked -= 1 }
  }
}

@Suite struct NameLookupTests {
  /// All other blocking work shares a few threads: files, and whatever a library does.
  @Test(.timeLimit(.wholeRun)) func namesThatHangHoldNoOthersThreads() async throws {
    let names = SilentNames()
    let lookup = NameLookup { _, _ in
      names.ask()
      return []
    }
    try await withThrowingTaskGroup { group in
      // This also runs after a failure. Otherwise the lookups would hang for ever.
      defer { names.speak() }
      for number in 0..<(4 * NameLookup.threads) {
        group.addTask { _ = try await lookup.addresses(of: "\(number).test", port: 443) }
      }
      while names.asked < NameLookup.threads { try await Task.sleep(for: .milliseconds(5)) }
      let count = try await NIOThreadPool.singleton.runIfActive { names.asked }
      #expect(count == NameLookup.threads)
      names.speak()
      try await group.waitForAll()
    }
    #expect(names.mostAtOnce == NameLookup.threads)
  }

  @Test func anInvalidNameIsNotFound() async {
    await #expect(throws: PushProblem.self) { try await NameLookup().addresses(of: "a..b", port: 443) }
  }
}
