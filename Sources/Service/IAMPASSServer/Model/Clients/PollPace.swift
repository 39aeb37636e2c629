import Synchronization

/// Bounds how often clients ask for the token of a request. The counts are in memory, and a restart loses them. Several
/// servers of one database count together: see ``SharedLimits``.
final class PollPace: Sendable {
  /// The time between two questions about one request, in seconds. Each question that comes sooner adds as much again
  /// (CIBA Core 1.0 §11).
  static let interval: Int64 = 5
  /// The greatest such time, in seconds. It is shorter than ``SessionLifecycle/collectionTime``, so that a client that
  /// keeps to it still gets its token.
  static let greatestInterval: Int64 = 20
  /// The most requests that are counted.
  static let greatestCount = 10_000
  /// How much too early a question may come, in milliseconds: clients count from the time at which they got the reply.
  static let tolerance: Int64 = 500

  /// How long servers that count together keep the questions of a request, in seconds. Requests are open for less.
  static let memory: Int64 = 3_600

  private struct Step {
    var last: UnixTime
    var interval: Int64
  }

  private let steps = Mutex<[String: Step]>([:])

  /// Whether this question comes too soon after the last one about the same request.
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
