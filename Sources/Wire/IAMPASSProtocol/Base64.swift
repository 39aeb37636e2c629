/// Strict Base64 (RFC 4648 §4). Decoding requires padding and the canonical spelling, and refuses every other
/// character.
public enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let padding = UInt8(ascii: "=")

  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        text.append(place <= group.count ? alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)] : padding)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes; nil if `text` does not encode any.
  public static func decode(_ text: String) -> [UInt8]? {
    let source = Array(text.utf8)
    guard source.count % 4 == 0 else { return nil }
    let digits = source.dropLast(source.suffix(2).count { $0 == padding })
    var bytes: [UInt8] = []
    bytes.reserveCapacity(source.count / 4 * 3)
    var bits: UInt32 = 0
    for (place, letter) in digits.enumerated() {
      guard let digit = value(of: letter) else { return nil }
      bits = bits << 6 | digit
      // One digit of four is not enough for a byte.
      let left = UInt32(6 - place % 4 * 2)
      if place % 4 > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> left)) }
    }
    // This catches early padding, a missing digit, and leftover bits.
    return encode(bytes) == text ? bytes : nil
  }

  private static func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
