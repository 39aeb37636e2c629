/// How often the service looks at what time has changed.
enum HousekeepingPace {
  /// How often the service looks at the time when nobody asks, in seconds. Whoever asks does not wait for it.
  static let interval: Int64 = 20
}
