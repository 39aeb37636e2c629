/// A public key of ECDSA over P-256, in its only accepted form: the base64 of `SubjectPublicKeyInfo` (RFC 5480) with a
/// named curve and an uncompressed point, as WebCrypto exports it as `spki`.
///
/// The point lies on the curve: other pairs of numbers are refused when a key is read.
public struct P256PublicKey: Sendable, Equatable {
  /// The bytes before the coordinates in each such key.
  private static let prefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
    0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]
  /// The number of bytes of ``coordinates``.
  public static let coordinatesSize = 64

  /// The base64 text.
  public let text: String
  /// 64 bytes, x then y.
  public let coordinates: [UInt8]

  /// Nil for any other form or kind of key, and for a point that does not lie on the curve.
  public init?(_ text: String) {
    guard let bytes = Base64.decode(text), bytes.count == Self.prefix.count + Self.coordinatesSize,
      bytes.starts(with: Self.prefix)
    else { return nil }
    let coordinates = Array(bytes.dropFirst(Self.prefix.count))
    guard P256Curve.hasPoint(coordinates) else { return nil }
    self.text = text
    self.coordinates = coordinates
  }

  /// `SubjectPublicKeyInfo` in DER.
  public var encoded: [UInt8] { Self.prefix + coordinates }

  /// The uncompressed point (SEC 1 §2.3.3): 65 bytes, the first of them 4.
  public var point: [UInt8] { Self.prefix.suffix(1) + coordinates }

  /// - Parameter point: in the form of ``point``; the result is nil for any other form, and for a point that is not on
  ///   the curve.
  public init?(point: [UInt8]) {
    guard point.first == Self.prefix.last else { return nil }
    self.init(Base64.encode(Self.prefix.dropLast() + point))
  }
}
