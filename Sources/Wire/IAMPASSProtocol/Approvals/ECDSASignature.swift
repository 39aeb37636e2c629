/// An ECDSA signature over P-256 whose two numbers are in range. The signature is not verified.
public struct ECDSASignature: Sendable, Equatable {
  /// The length of r and of s in bytes.
  private static let half = 32
  /// The order of the curve's group (FIPS 186-5, P-256). Both numbers are greater than zero and less than this.
  private static let order: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA,
    0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
  ]

  /// 64 bytes, r then s.
  public let raw: [UInt8]

  /// - Parameter raw: 64 bytes, r then s, as WebCrypto makes them; the result is nil for another length, or a number
  ///   out of range.
  public init?(raw: [UInt8]) {
    guard raw.count == 2 * Self.half, Self.isInRange(raw.prefix(Self.half)), Self.isInRange(raw.suffix(Self.half))
    else {
      return nil
    }
    self.raw = raw
  }

  /// - Parameter der: ASN.1 DER, as authenticators make it (RFC 3279 §2.2.3); the result is nil for any other encoding,
  ///   or for bytes after it.
  public init?(der: [UInt8]) {
    // The longest encoding has two numbers of 33 bytes, so each length fits into one byte.
    guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count - 2, der[1] < 0x80 else { return nil }
    var rest = der.dropFirst(2)
    guard let r = Self.takeNumber(&rest), let s = Self.takeNumber(&rest), rest.isEmpty else { return nil }
    self.init(raw: r + s)
    // One signature has one encoding.
    guard self.der == der else { return nil }
  }

  /// ASN.1 DER.
  public var der: [UInt8] {
    let numbers = Self.encoded(raw.prefix(Self.half)) + Self.encoded(raw.suffix(Self.half))
    return [0x30, UInt8(numbers.count)] + numbers
  }

  private static func isInRange(_ number: ArraySlice<UInt8>) -> Bool {
    number.contains { $0 != 0 } && number.lexicographicallyPrecedes(order)
  }

  /// The next number as 32 bytes.
  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard rest.count >= 2, rest.removeFirst() == 0x02 else { return nil }
    let length = Int(rest.removeFirst())
    guard (1...half + 1).contains(length), length <= rest.count else { return nil }
    let digits = rest.prefix(length).drop { $0 == 0 }
    rest = rest.dropFirst(length)
    guard digits.count <= half else { return nil }
    return [UInt8](repeating: 0, count: half - digits.count) + digits
  }

  /// An INTEGER in its shortest form, never negative.
  private static func encoded(_ number: ArraySlice<UInt8>) -> [UInt8] {
    let digits = number.drop { $0 == 0 }
    let padding: [UInt8] = (digits.first ?? 0x80) >= 0x80 ? [0] : []
    return [0x02, UInt8(padding.count + digits.count)] + padding + digits
  }
}
