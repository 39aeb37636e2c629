import Synchronization

/// How often the tokens of requests are asked for. In memory: a restart forgives. Several servers of one database count
/// together: see ``SharedLimits``.
final class PollPace: Sendable {
  /// Seconds between two questions of one request, and what each question that comes sooner adds to that
  /// (CIBA Core 1.0 §11).
  static let interval: Int64 = 5
  /// Shorter than ``SessionLifecycle/collectionTime``: a client that keeps to it still gets its token, in seconds.
  static let greatestInterval: Int64 = 20
  /// Requests that are kept at most.
  static let greatestCount = 10_000
  /// Milliseconds by which a question may come early: clients count from when they got the reply.
  static let tolerance: Int64 = 500

  /// Seconds after which the questions of a request are forgotten by servers that count together. No request is open for
  /// so long.
  static let memory: Int64 = 3_600

  private struct Step {
    var last: UnixTime
    var interval: Int64
  }

  private let steps = Mutex<[String: Step]>([:])

  /// Whether this question comes too soon after the last one of the same request.
  func isTooFast(_ request: String, at now: UnixTime) -> Bool {
    steps.withLock { steps in
      guard var step = steps[request] else {
        if steps.count >= Self.greatestCount { Self.makeRoom(&steps) }
        steps[request] = Step(last: now, interval: Self.interval)
        return false
      }
      let isTooFast = now.milliseconds(since: step.last) < step.interval * 1_000 - Self.tolerance
      if isTooFast { step.interval = min(step.interval + Self.interval, Self.greatestInterval) }
      step.last = now
      steps[request] = step
      return isTooFast
    }
  }

  func forget(_ request: String) { steps.withLock { $0[request] = nil } }

  private static func makeRoom(_ steps: inout [String: Step]) {
    for (name, _) in steps.sorted(by: { $0.value.last < $1.value.last }).prefix(greatestCount / 2) { steps[name] = nil }
  }
}
