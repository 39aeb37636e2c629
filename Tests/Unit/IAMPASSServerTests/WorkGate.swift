import Dispatch
import Synchronization

/// What holds the work that waits at it, with its thread, until it is opened or ten minutes have passed.
final class WorkGate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let arrived = Atomic(0)

  /// How many have come to it.
  var arrivals: Int { arrived.load(ordering: .acquiring) }

  func wait() {
    arrived.add(1, ordering: .acquiringAndReleasing)
    _ = semaphore.wait(timeout: .now() + 600)
    semaphore.signal()
  }

  func open() { semaphore.signal() }
}
