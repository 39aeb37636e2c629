import CommandSupport
import HostSystem
import IAMPASSClient

/// Waits for a service that has too much to do at the moment, as when hundreds of computers join at once.
///
/// A service that does not work at all is reported after a minute.
struct BusyService {
  /// The longest time of all pauses together, in milliseconds.
  private static let patience: Int64 = 60_000
  /// The pause if the service does not name one, in seconds.
  private static let usualPause: Int64 = 2
  /// The pauses of many computers differ by up to this, in milliseconds, so that they do not ask again all at once.
  private static let spread: Int64 = 2_000

  private let interrupt: Interrupt
  private let end: MonotonicInstant
  private var hasSaid = false

  /// - Parameter limit: when to give up at the latest.
  init(_ interrupt: Interrupt, until limit: MonotonicInstant? = nil) {
    self.interrupt = interrupt
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    self.end = limit.map { min($0, end) } ?? end
  }

  /// Asks, and asks again while the service has too much to do.
  mutating func answer<Answer>(to ask: () throws(ServiceError) -> Answer) throws(CommandProblem) -> Answer {
    while true {
      let refusal: ServiceError
      do { return try ask() } catch { refusal = error }
      guard try pauses(after: refusal) else { throw .service(refusal) }
    }
  }

  /// Waits if the same request may succeed in a moment.
  ///
  /// - Returns: whether to ask again.
  mutating func pauses(after error: ServiceError) throws(CommandProblem) -> Bool {
    guard let seconds = Self.pause(after: error) else { return false }
    let left = end.milliseconds(since: .now())
    // Compared in seconds first: the service could name any number.
    guard seconds <= left / 1_000 else { return false }
    let pause = min(seconds * 1_000 + .random(in: 0..<Self.spread), left)
    if !hasSaid { Terminal.say("the service has too much to do at the moment; asking again for up to a minute") }
    hasSaid = true
    guard interrupt.wait(milliseconds: pause) == .timeOver else { throw .interrupted }
    return true
  }

  /// In seconds; nil for what no wait changes.
  private static func pause(after error: ServiceError) -> Int64? {
    switch error {
    case .tooManyRequests(let seconds): max(1, seconds ?? usualPause)
    case .serverFailed(status: 503): usualPause
    default: nil
    }
  }
}
