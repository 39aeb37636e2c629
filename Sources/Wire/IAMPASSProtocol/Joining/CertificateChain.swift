/// The certificates in a PEM text, as bytes. Their content is not read.
public enum CertificateChain {
  private static let beginning = Array("-----BEGIN CERTIFICATE-----".utf8)
  private static let end = Array("-----END CERTIFICATE-----".utf8)
  /// The most certificates that are read. A chain has two or three.
  private static let greatestCount = 20

  /// The DER of each certificate, in order. Skips other text, and blocks that are not base64.
  public static func certificates(in text: [UInt8]) -> [[UInt8]] {
    var found: [[UInt8]] = []
    var digits: [UInt8]?
    for line in text.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      if line.elementsEqual(beginning) {
        digits = []
      } else if line.elementsEqual(end) {
        if let bytes = digits.flatMap({ Base64.decode(String(decoding: $0, as: UTF8.self)) }), !bytes.isEmpty {
          found.append(bytes)
        }
        digits = nil
        guard found.count < greatestCount else { break }
      } else if digits != nil {
        digits! += line
      }
    }
    return found
  }

  /// A certificate's PEM (RFC 7468).
  public static func pem(_ certificate: [UInt8]) -> [UInt8] {
    let digits = Array(Base64.encode(certificate).utf8)
    let lines = stride(from: 0, to: digits.count, by: 64).map { digits[$0..<min($0 + 64, digits.count)] }
    return Array([[beginning[...]], lines, [end[...]]].joined().joined(separator: [UInt8(ascii: "\n")]))
      + [UInt8(ascii: "\n")]
  }
}
