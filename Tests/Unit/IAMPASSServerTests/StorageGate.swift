import Synchronization

/// While it is shut, calls of these names wait here, each before it reaches the engine: see ``LosingStorage``. Counts them.
final class StorageGate: Sendable {
  private struct State {
    var isShut: Bool
    var looks = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let names: Set<String>
  private let state: Mutex<State>

  init(_ names: Set<String>, isShut: Bool) {
    self.names = names
    state = Mutex(State(isShut: isShut))
  }

  var looks: Int { state.withLock(\.looks) }

  func shut() { state.withLock { $0.isShut = true } }

  func pass(_ name: String) async {
    guard names.contains(name) else { return }
    await withCheckedContinuation { continuation in
      let isShut = state.withLock { state in
        state.looks += 1
        if state.isShut { state.waiters.append(continuation) }
        return state.isShut
      }
      if !isShut { continuation.resume() }
    }
  }

  func open() {
    let waiters = state.withLock { state in
      state.isShut = false
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
