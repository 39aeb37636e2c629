import PresenceLink

/// Which request is looked into next. Pages are serial: an adapter that pages two phones at a time would make one of them
/// look away. Times are milliseconds after boot.
public struct ProbeQueue<Asker: Hashable & Sendable>: Sendable {
  /// How long the same phone is left alone after a look: the kernel keeps a link for 2 s after its last user, and a phone
  /// found through an old link may have gone since.
  public static var rest: Int64 { 2_500 }
  /// Phones that rest at a time. Whoever asks for more of them waits.
  static var mostResting: Int { 64 }

  private var waiting: [(asker: Asker, request: ProbeRequest)] = []
  private var resting: [BluetoothAddress: Int64] = [:]

  public init() {}

  /// - Returns: false if the asker has a request already.
  public mutating func add(_ request: ProbeRequest, of asker: Asker) -> Bool {
    guard !waiting.contains(where: { $0.asker == asker }) else { return false }
    waiting.append((asker, request))
    return true
  }

  public func isWaiting(_ asker: Asker) -> Bool { waiting.contains { $0.asker == asker } }

  public mutating func remove(_ asker: Asker) { waiting.removeAll { $0.asker == asker } }

  /// The oldest request for a phone that does not rest.
  public mutating func next(now: Int64) -> (asker: Asker, request: ProbeRequest)? {
    resting = resting.filter { $0.value > now }
    guard resting.count < Self.mostResting, let place = waiting.firstIndex(where: { resting[$0.request.phone] == nil })
    else { return nil }
    return waiting.remove(at: place)
  }

  /// A look for this phone has ended, however it ended.
  public mutating func rested(_ phone: BluetoothAddress, from now: Int64) { resting[phone] = now + Self.rest }

  /// When ``next(now:)`` may answer again although it does not now; nil if no request waits.
  public func wake(now: Int64) -> Int64? {
    guard !waiting.isEmpty else { return nil }
    if resting.count >= Self.mostResting { return resting.values.min() }
    return waiting.map { resting[$0.request.phone] ?? now }.min()
  }
}
