import HostSystem

/// Callers that are refused because they have no session here. Whoever has an account can connect as often as they like,
/// with thousands of uids of a user namespace: that must neither fill the log nor keep others waiting.
public struct AbsentCallers: Sendable {
  /// A uid that was refused is refused unlooked for so long. Milliseconds.
  public static let memory: Int64 = 1_000
  /// Lines of the log in a minute, for all of them.
  public static let greatestLineCount = 10
  private static let minute: Int64 = 60_000
  private static let greatestCount = 256

  private var refused: [UInt32: MonotonicInstant] = [:]
  private var minuteBegan: MonotonicInstant?
  /// Those with a line in this minute.
  private var told: Set<UInt32> = []
  private var untold = 0

  public init() {}

  /// Whether this uid was refused just now.
  public func contains(_ uid: UInt32, now: MonotonicInstant) -> Bool {
    refused[uid].map { now.milliseconds(since: $0) < Self.memory } ?? false
  }

  /// Notes a refusal.
  ///
  /// - Returns: for a line of the log, how many refusals had none since the last line; nil: this one has none.
  public mutating func add(_ uid: UInt32, now: MonotonicInstant) -> Int? {
    remember(uid, now)
    if minuteBegan.map({ now.milliseconds(since: $0) >= Self.minute }) ?? true {
      minuteBegan = now
      told = []
    }
    guard told.count < Self.greatestLineCount, told.insert(uid).inserted else {
      untold += 1
      return nil
    }
    defer { untold = 0 }
    return untold
  }

  private mutating func remember(_ uid: UInt32, _ now: MonotonicInstant) {
    guard !contains(uid, now: now) else { return }
    if refused.count >= Self.greatestCount {
      refused = refused.filter { now.milliseconds(since: $0.value) < Self.memory }
      // This many came within a second: they are looked up again.
      if refused.count >= Self.greatestCount { refused = [:] }
    }
    refused[uid] = now
  }
}
