/// Bounds the messages under way at each push service, so that a service that hangs does not block the others.
///
/// The user of a browser chooses its push service, so there may be any number of services.
struct PushLimit {
  /// The most messages at once to one push service. Each holds a connection.
  static let mostAtOne = 64
  /// If this many messages are under way, each push service gets only ``fewAtOne``.
  static let manyAtAll = 256
  /// The most messages to one push service if many are under way.
  static let fewAtOne = 4
  /// The most messages at once to all push services.
  static let mostAtAll = 512

  private var underway: [String: Int] = [:]
  private var all = 0

  /// Takes a place for a message to this service; false if there is none. Each place must be given back.
  mutating func take(_ service: String) -> Bool {
    let count = underway[service] ?? 0
    guard all < Self.mostAtAll, count < (all < Self.manyAtAll ? Self.mostAtOne : Self.fewAtOne) else { return false }
    underway[service] = count + 1
    all += 1
    return true
  }

  mutating func giveBack(_ service: String) {
    let count = underway[service] ?? 0
    underway[service] = count > 1 ? count - 1 : nil
    all -= 1
  }
}
