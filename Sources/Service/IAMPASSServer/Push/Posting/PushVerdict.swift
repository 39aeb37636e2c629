/// The verdict on a push service's reply.
enum PushVerdict: Sendable, Equatable {
  case delivered
  /// Messages will not be delivered there any more.
  case gone
  /// Another attempt may succeed after this many seconds.
  case again(seconds: Int64)
  case failed(String)

  /// The number of attempts for a message.
  static let tries = 3
  /// The longest pause between two attempts, in seconds. A waiting message keeps its place in the queue.
  static let longestPause: Int64 = 20

  /// The pause before the next attempt, in seconds, unless the service names a longer one: it doubles.
  static func usualPause(after attempt: Int) -> Int64 { 1 << Int64(attempt) }

  /// The verdict on a reply that asks the sender to wait (429, 5xx).
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt that had this reply, from 1.
  ///   - secondsLeft: until the request ends, and the message with it.
  static func later(_ reply: PushReply, attempt: Int, secondsLeft: Int64, problem: String? = nil) -> PushVerdict {
    let problem = problem ?? reply.problem
    guard attempt < tries else { return .failed("\(problem), after \(tries) attempts") }
    let pause = max(reply.retryAfter ?? 0, usualPause(after: attempt))
    guard pause <= longestPause, pause < secondsLeft else {
      return .failed("\(problem), and no other attempt for \(pause) s")
    }
    return .again(seconds: pause)
  }

  /// The verdict on a web push service's reply (RFC 8030).
  init(webPush reply: PushReply, attempt: Int, secondsLeft: Int64) {
    self =
      switch reply.status {
      case 200..<300: .delivered
      // The subscription has ended (RFC 8030 §7.3).
      case 404, 410: .gone
      case 429, 500..<600: .later(reply, attempt: attempt, secondsLeft: secondsLeft)
      default: .failed(reply.problem)
      }
  }
}
