/// How often the service does its housekeeping.
enum HousekeepingPace {
  /// The time between two housekeeping runs, in seconds. Requests do not wait for it.
  static let interval: Int64 = 20
}
