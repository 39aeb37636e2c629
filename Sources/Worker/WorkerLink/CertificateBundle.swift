import IAMPASSProtocol

/// The certificates that replace the system's authorities: at least one. A text without certificates would pin nothing,
/// since an empty text tells the worker to trust the system's.
public struct CertificateBundle: Sendable, Equatable {
  private static let labels = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]

  /// The text as it was given. OpenSSL ignores text between the certificates.
  public let pem: [UInt8]

  /// Nil for a text without a complete certificate (RFC 7468). The worker reads the certificates' content.
  public init?(pem: [UInt8]) {
    guard Self.hasCertificate(pem) else { return nil }
    self.pem = pem
  }

  private static func hasCertificate(_ pem: [UInt8]) -> Bool {
    var ending: [UInt8]?
    var digits: [UInt8] = []
    for line in pem.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      let text = line[..<(line.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? line.startIndex)]
      if let label = labels.first(where: { text.elementsEqual("-----BEGIN \($0)-----".utf8) }) {
        ending = Array("-----END \(label)-----".utf8)
        digits = []
      } else if let expected = ending {
        guard text.elementsEqual(expected) else {
          digits += text
          continue
        }
        if isSequence(Base64.decode(String(decoding: digits, as: UTF8.self)) ?? []) { return true }
        ending = nil
      }
    }
    return false
  }

  /// Whether a complete DER sequence begins here (X.690 §8.1). A trusted certificate has more bytes after it.
  private static func isSequence(_ bytes: [UInt8]) -> Bool {
    guard bytes.count > 2, bytes[0] == 0x30 else { return false }
    guard bytes[1] >= 0x80 else { return bytes[1] > 0 && bytes.count >= 2 + Int(bytes[1]) }
    let digits = Int(bytes[1] & 0x7F)
    guard (1...3).contains(digits), bytes.count > 2 + digits else { return false }
    let length = bytes[2..<(2 + digits)].reduce(0) { $0 << 8 | Int($1) }
    return length > 0 && bytes.count >= 2 + digits + length
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
