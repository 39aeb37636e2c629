/// Counts the answers that the service does not know a session, and since when.
///
/// Times are milliseconds after boot.
struct ForgottenAnswers: Sendable, Equatable {
  /// This many answers count as an end, if they came over at least ``leastTime``.
  static let leastCount = 3
  /// The time between the first and the last of them, in milliseconds.
  static let leastTime: Int64 = 60_000

  private(set) var since: Int64?
  private var count = 0

  mutating func add(at now: Int64) {
    count += 1
    since = since ?? now
  }

  func areEnough(at now: Int64) -> Bool {
    count >= Self.leastCount && since.map { now - $0 >= Self.leastTime } ?? false
  }
}
