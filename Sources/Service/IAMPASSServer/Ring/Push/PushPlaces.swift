/// How many messages are under way at each push service, so that one that hangs keeps no other from ringing its phones.
///
/// Who registers a browser chooses its push service, so that there may be any number of them.
struct PushPlaces {
  /// Messages at once to one push service: each holds a connection.
  static let mostAtOne = 64
  /// Messages at once beyond which a push service has a few alone.
  static let manyAtAll = 256
  /// Those few.
  static let fewAtOne = 4
  /// Messages at once to all of them.
  static let mostAtAll = 512

  private var underway: [String: Int] = [:]
  private var all = 0

  /// A place for a message to this service; false if there is none. Each that was taken is given back.
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
