import IAMPASSClient
import IAMPASSProtocol

/// A registration link followed by a secret of this command, by which the command recognizes the phone that opens the
/// link.
///
/// The secret is in the link's fragment, which browsers and `iampass-phone` do not send. So the service does not get
/// it.
struct PinningLink {
  private static let marker = "/register/"

  /// The link with the fragment, as it is shown.
  let text: String
  private let secret: Secret
  private let origin: String
  private let code: Secret

  /// Nil for a link that is not `SERVER/register/CODE`: its page would not use the secret.
  init?(_ link: String, secret: Secret) {
    guard let start = Self.lastMarker(in: link),
      let server = try? ServerURL(String(decoding: link.utf8.prefix(start), as: UTF8.self))
    else { return nil }
    let code = Array(link.utf8.dropFirst(start + Self.marker.utf8.count))
    guard !code.isEmpty, code.allSatisfy(Self.isCodeByte) else { return nil }
    text = "\(link)#\(PhoneKeys.pinFragment)\(Base64URL.encode(secret.exposedBytes))"
    self.secret = secret
    self.code = Secret(bytes: code)
    origin = server.origin
  }

  /// The bytes before the last `/register/`.
  private static func lastMarker(in link: String) -> Int? {
    let bytes = Array(link.utf8)
    let pattern = Array(marker.utf8)
    guard bytes.count > pattern.count else { return nil }
    return (0...(bytes.count - pattern.count)).last { bytes[$0...].starts(with: pattern) }
  }

  private static func isCodeByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  /// Fresh random bytes for one link; nil if the kernel fails.
  static func drawSecret() -> Secret? { Digest.randomBytes(PhoneKeys.pinSecretSize).map { Secret(bytes: $0) } }

  /// Whether the sender of this MAC of the keys had the link.
  func proves(_ keys: PhoneKeys, by mac: String) -> Bool {
    let expected = keys.pinMAC(secret: secret, origin: origin, link: code)
    return Digest.areEqual(Array(expected.utf8), Array(mac.utf8))
  }
}
