/// A request's target, split and decoded.
struct RequestTarget {
  let path: [String]
  let query: [(name: String, value: String)]

  /// Nil unless it is a path from the root, in UTF-8.
  init?(_ target: Substring) {
    guard target.hasPrefix("/") else { return nil }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var path: [String] = []
    for segment in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let decoded = RequestTarget.decoded(segment) else { return nil }
      path.append(decoded)
    }
    var query: [(String, String)] = []
    for pair in parts.count == 2 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = RequestTarget.decoded(sides[0]),
        let value = sides.count == 2 ? RequestTarget.decoded(sides[1]) : ""
      else {
        return nil
      }
      query.append((name, value))
    }
    self.path = path
    self.query = query
  }

  /// The value of this query name; nil unless there is exactly one.
  func value(_ name: String) -> String? {
    let values = query.filter { $0.name == name }
    return values.count == 1 ? values[0].value : nil
  }

  func has(_ name: String) -> Bool { query.contains { $0.name == name } }

  /// `+` is a space: clients write user ids with Python's `quote_plus`.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var source = text.utf8.makeIterator()
    while let byte = source.next() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = source.next().flatMap(digit), let low = source.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
