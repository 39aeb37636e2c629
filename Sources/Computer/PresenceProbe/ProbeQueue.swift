import PresenceLink

/// Chooses the next request. Pages are serial: if an adapter pages two phones at a time, one of them seems away. Times
/// are milliseconds after boot.
public struct ProbeQueue<Client: Hashable & Sendable>: Sendable {
  /// The pause after an attempt before the same phone is looked for again. The kernel keeps a link for 2 s after its last
  /// use, and a phone that answers over an old link may have left.
  public static var rest: Int64 { 2_500 }
  /// The most phones that rest at a time. Requests for more phones wait.
  static var mostResting: Int { 64 }

  private var waiting: [(client: Client, request: ProbeRequest)] = []
  private var resting: [BluetoothAddress: Int64] = [:]

  public init() {}

  /// - Returns: false if the client has a request already.
  public mutating func add(_ request: ProbeRequest, of client: Client) -> Bool {
    guard !waiting.contains(where: { $0.client == client }) else { return false }
    waiting.append((client, request))
    return true
  }

  public func isWaiting(_ client: Client) -> Bool { waiting.contains { $0.client == client } }

  public mutating func remove(_ client: Client) { waiting.removeAll { $0.client == client } }

  /// Removes and returns the oldest request for a phone that does not rest.
  public mutating func next(now: Int64) -> (client: Client, request: ProbeRequest)? {
    resting = resting.filter { $0.value > now }
    guard resting.count < Self.mostResting, let place = waiting.firstIndex(where: { resting[$0.request.phone] == nil })
    else { return nil }
    return waiting.remove(at: place)
  }

  /// An attempt for this phone has ended, with any result.
  public mutating func rested(_ phone: BluetoothAddress, from now: Int64) { resting[phone] = now + Self.rest }

  /// When ``next(now:)`` may give a request again; nil if no request waits.
  public func wake(now: Int64) -> Int64? {
    guard !waiting.isEmpty else { return nil }
    if resting.count >= Self.mostResting { return resting.values.min() }
    return waiting.map { resting[$0.request.phone] ?? now }.min()
  }
}
