import HostSystem

/// Callers that are refused because they have no session here. A user with an account can connect very often, with
/// thousands of uids of a user namespace. That must not fill the log or delay other callers.
public struct AbsentCallers: Sendable {
  /// How long a refused uid is refused again without a look-up, in milliseconds.
  public static let memory: Int64 = 1_000
  /// The most log lines in a minute for all of them.
  public static let greatestLineCount = 10
  private static let minute: Int64 = 60_000
  private static let greatestCount = 256

  private var refused: [UInt32: MonotonicInstant] = [:]
  private var minuteBegan: MonotonicInstant?
  /// The uids with a log line in this minute.
  private var logged: Set<UInt32> = []
  private var unlogged = 0

  public init() {}

  /// Whether this uid was refused just now.
  public func contains(_ uid: UInt32, now: MonotonicInstant) -> Bool {
    refused[uid].map { now.milliseconds(since: $0) < Self.memory } ?? false
  }

  /// Notes a refusal.
  ///
  /// - Returns: nil if this refusal is not logged. Otherwise the number of refusals without a line since the last line.
  public mutating func add(_ uid: UInt32, now: MonotonicInstant) -> Int? {
    remember(uid, now)
    if minuteBegan.map({ now.milliseconds(since: $0) >= Self.minute }) ?? true {
      minuteBegan = now
      logged = []
    }
    guard logged.count < Self.greatestLineCount, logged.insert(uid).inserted else {
      unlogged += 1
      return nil
    }
    defer { unlogged = 0 }
    return unlogged
  }

  private mutating func remember(_ uid: UInt32, _ now: MonotonicInstant) {
    guard !contains(uid, now: now) else { return }
    if refused.count >= Self.greatestCount {
      refused = refused.filter { now.milliseconds(since: $0.value) < Self.memory }
      // If there are this many within a second, they are looked up again.
      if refused.count >= Self.greatestCount { refused = [:] }
    }
    refused[uid] = now
  }
}
