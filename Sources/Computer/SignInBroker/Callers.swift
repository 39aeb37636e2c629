import HostSystem

/// The callers that are served now, with the bounds on their number and time.
public struct Callers: Sendable {
  /// The most processes at one time.
  public static let greatestCount = 30
  /// The most processes for root, and the most for all users, so that neither kind blocks the other. A user's polkit
  /// requests come from root.
  public static let greatestCountOfAKind = 20
  /// A caller's process is killed after this time, in milliseconds. It is longer than a request with its start and end.
  public static let lifetime: Int64 = 150_000

  private struct Caller {
    let uid: UInt32
    var end: MonotonicInstant
  }

  private var open: [Int32: Caller] = [:]

  public init() {}

  public var count: Int { open.count }

  /// Whether one more caller is accepted: one for each user, and several for root, which asks for different users.
  public func admits(_ uid: UInt32) -> Bool {
    let ofTheKind = open.values.count { ($0.uid == 0) == (uid == 0) }
    guard open.count < Self.greatestCount, ofTheKind < Self.greatestCountOfAKind else { return false }
    return uid == 0 || !open.values.contains { $0.uid == uid }
  }

  /// - Parameter process: the caller's process here.
  public mutating func add(_ process: Int32, uid: UInt32, now: MonotonicInstant) {
    open[process] = Caller(uid: uid, end: now.advanced(milliseconds: Self.lifetime))
  }

  public mutating func remove(_ process: Int32) { open[process] = nil }

  /// The processes to kill. Each is returned again only after another ``lifetime``.
  public mutating func overdue(_ now: MonotonicInstant) -> [Int32] {
    let late = open.filter { now >= $0.value.end }.map(\.key)
    for process in late { open[process]?.end = now.advanced(milliseconds: Self.lifetime) }
    return late
  }

  /// Milliseconds until a process is overdue; nil without one.
  public func milliseconds(_ now: MonotonicInstant) -> Int64? {
    open.values.map(\.end).min().map { max(0, $0.milliseconds(since: now)) }
  }
}
