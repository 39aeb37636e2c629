import IAMPASSProtocol
import Synchronization

/// Orders whose document could not be made, asked for or kept, as after damage in the database. Each is tried again with
/// growing pauses. It is in memory: other servers of one database count their own failures.
final class OrderFailures: Sendable {
  /// After this many failures one after the other an order ends. A command waits 10 s for the phone to be asked, which is
  /// longer than the pauses before that: 1 s and 4 s.
  static let greatestCount = 3
  /// Seconds until the second try.
  private static let firstPause: Int64 = 1
  /// Each further pause is longer by this factor.
  private static let growth: Int64 = 4
  /// Seconds. An order that cannot even be ended is tried again after such a pause.
  private static let greatestPause: Int64 = 60

  private struct Failures {
    var count = 0
    var pause = OrderFailures.firstPause
    var next: UnixTime
  }

  private let known = Mutex<[String: Failures]>([:])

  /// Whether the order's pause is over.
  ///
  /// - Parameter now: service time.
  func isDue(_ order: String, at now: UnixTime) -> Bool { known.withLock { $0[order].map { $0.next <= now } ?? true } }

  /// Notes a failure.
  ///
  /// - Returns: how many there were since the last success.
  func note(_ order: String, at now: UnixTime) -> Int {
    known.withLock { known in
      var failures = known[order] ?? Failures(next: now)
      failures.count += 1
      failures.next = now.advanced(seconds: failures.pause)
      failures.pause = min(failures.pause * Self.growth, Self.greatestPause)
      known[order] = failures
      return failures.count
    }
  }

  /// The order did not fail, or has ended.
  func forget(_ order: String) { known.withLock { $0[order] = nil } }

  /// Forgets all orders but these, which are open.
  func keep(_ open: [String]) {
    let open = Set(open)
    known.withLock { $0 = $0.filter { open.contains($0.key) } }
  }
}
