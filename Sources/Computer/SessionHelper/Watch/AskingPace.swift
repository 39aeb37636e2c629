/// When to ask again. Pure but for its dice.
struct AskingPace {
  /// Between two questions if the service does not hold its replies, in ms.
  static let polling: Int64 = 5_000
  static let longestPause: Int64 = 60_000
  /// A session that the service does not know, or that was left aside.
  static let doubted: Int64 = 30_000
  static let leftAside: Int64 = 60_000

  /// All that are left aside are asked about together, so that they are judged together.
  static func afterLeavingAside(_ now: Int64) -> Int64 { (now / leftAside + 1) * leftAside }

  /// Questions that are not urgent are asked together, so that many cost one wake-up of the helper, of the worker and
  /// of the service; in ms.
  static let tick: Int64 = 250
  /// A held reply that comes sooner than this was not held. Our service holds for a second while a reply of its own may
  /// have been lost on the way.
  static let leastHold: Int64 = 500
  /// Until a service is asked again that only says that it holds.
  static let afterNoHold: Int64 = 2_000

  /// Spreads by a fifth to both sides, so that many hosts do not ask in step.
  var dice: () -> Int64 = { Int64.random(in: -200...200) }

  func spread(_ time: Int64) -> Int64 { time + time * dice() / 1_000 }

  /// The next time, from this one on, at which questions are asked together.
  static func onTick(_ time: Int64) -> Int64 { (time + tick - 1) / tick * tick }

  func afterFailure(_ failures: Int) -> Int64 {
    spread(min(Self.longestPause, Self.polling << min(failures - 1, 4)))
  }

  /// At least twice this must cover the time over which an unknown session counts.
  func afterUnknown() -> Int64 { Self.doubted + (dice() + 200) * 10 }
}
