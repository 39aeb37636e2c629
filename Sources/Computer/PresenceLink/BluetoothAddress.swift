/// The address of an adapter or a phone (BD_ADDR). As in its written form, the first octet is the most significant one.
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
  /// The six octets.
  public let octets: [UInt8]

  /// Reads `AA:BB:CC:DD:EE:FF`; letters may be of either case. Nil for other texts, and for the address of all zeroes
  /// or all ones, which devices do not have.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 17 else { return nil }
    var octets: [UInt8] = []
    for place in stride(from: 0, to: 17, by: 3) {
      guard place == 15 || bytes[place + 2] == UInt8(ascii: ":"),
        let high = Self.digit(bytes[place]), let low = Self.digit(bytes[place + 1])
      else { return nil }
      octets.append(high << 4 | low)
    }
    guard octets.contains(where: { $0 != 0 }), octets.contains(where: { $0 != 0xff }) else { return nil }
    self.octets = octets
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// The address in capital letters, as BlueZ writes it.
  public var description: String {
    let digits = Array("0123456789ABCDEF")
    return octets.map { String([digits[Int($0 >> 4)], digits[Int($0 & 15)]]) }.joined(separator: ":")
  }
}
