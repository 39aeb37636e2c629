import HostSystem

/// The callers that are served now: how many may be, and until when.
public struct Callers: Sendable {
  /// Processes that this broker runs at one time.
  public static let greatestCount = 30
  /// Those of them for root, and those for all users: neither kind keeps the other out. A user's polkit requests come
  /// from root.
  public static let greatestCountOfAKind = 20
  /// A caller's process is killed after so long. Longer than a request with its start and its end. Milliseconds.
  public static let lifetime: Int64 = 150_000

  private struct Caller {
    let uid: UInt32
    var end: MonotonicInstant
  }

  private var open: [Int32: Caller] = [:]

  public init() {}

  public var count: Int { open.count }

  /// Whether one more is taken: one for each user, and further ones for root, which asks for different users.
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

  /// The processes to kill. Each is named again after a further ``lifetime`` only.
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
