import GRDB
import Synchronization

/// Whether another process holds the database, as far as writes have noticed.
final class LockWatch: Sendable {
  private let lastFailure = Mutex<ContinuousClock.Instant?>(nil)

  func watching<Value>(_ work: () throws -> Value) throws -> Value {
    do {
      return try work()
    } catch  where StorageTrouble(error) == .locked {
      lastFailure.withLock { $0 = .now }
      throw error
    }
  }

  /// Whether a write has failed since `arrival`, and `arrival` is at least `time` ago.
  func hasOutlasted(_ arrival: ContinuousClock.Instant, by time: Duration) -> Bool {
    guard let failure = lastFailure.withLock({ $0 }), failure >= arrival else { return false }
    return arrival.duration(to: .now) >= time
  }
}
