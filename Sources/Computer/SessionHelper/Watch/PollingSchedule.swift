/// When to ask again. Pure except for its random numbers.
struct PollingSchedule {
  /// The time between two questions if the service does not hold its replies, in ms.
  static let polling: Int64 = 5_000
  static let longestPause: Int64 = 60_000
  /// The time until the next question about a session that the service does not know or that was left alone, in ms.
  static let doubted: Int64 = 30_000
  static let leftAside: Int64 = 60_000

  /// The service is asked about all sessions that were left alone together, so that they are judged together.
  static func afterLeavingAside(_ now: Int64) -> Int64 { (now / leftAside + 1) * leftAside }

  /// Questions that are not urgent wait for the next multiple of this time, in ms. All of them then cost one
  /// wake-up of helper, worker and service.
  static let tick: Int64 = 250
  /// A reply that comes sooner than this was not held, in ms. Our service holds for a second while one of its replies
  /// may have been lost.
  static let leastHold: Int64 = 500
  /// The time until the next question to a service that claims to hold replies but does not, in ms.
  static let afterNoHold: Int64 = 2_000

  /// Spreads times by a fifth to both sides, so that many computers do not ask at the same moment.
  var dice: () -> Int64 = { Int64.random(in: -200...200) }

  func spread(_ time: Int64) -> Int64 { time + time * dice() / 1_000 }

  /// The next time, from this one on, at which questions are asked together.
  static func onTick(_ time: Int64) -> Int64 { (time + tick - 1) / tick * tick }

  func afterFailure(_ failures: Int) -> Int64 {
    spread(min(Self.longestPause, Self.polling << min(failures - 1, 4)))
  }

  /// The time until the next question about an unknown session, in ms. Twice this time must be at least
  /// ``ForgottenAnswers/leastTime``.
  func afterUnknown() -> Int64 { Self.doubted + (dice() + 200) * 10 }
}
