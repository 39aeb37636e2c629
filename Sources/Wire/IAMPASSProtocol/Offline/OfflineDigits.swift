/// The eight digits by which a phone without a network approves, as shown by the phone or typed by the user.
public struct OfflineDigits: Sendable, Equatable {
  public static let count = 8
  private static let modulus: UInt32 = 100_000_000
  private static let blanks = [UInt8(ascii: " "), UInt8(ascii: "-")]

  private let digits: Secret

  /// For the phone's screen: `1234 5678`.
  public var exposedText: String {
    let text = digits.exposedValue
    return "\(text.prefix(Self.count / 2)) \(text.suffix(Self.count / 2))"
  }

  /// The typed text; nil unless it has eight digits. A space or hyphen may be in the middle, and spaces around.
  public init?(typed: Secret) {
    let trimmed = Array(typed.exposedBytes.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed())
    var found = trimmed
    if trimmed.count == Self.count + 1, Self.blanks.contains(trimmed[Self.count / 2]) {
      found.remove(at: Self.count / 2)
    }
    guard found.count == Self.count, found.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    digits = Secret(bytes: found)
  }

  /// HMAC-SHA-256 over the challenge's message, truncated as in RFC 4226 (§5.3).
  ///
  /// - Parameters:
  ///   - secret: the secret of computer and phone, see ``secret(agreed:computer:phone:)``.
  ///   - origin: scheme, host and port of the service.
  public init(secret: Secret, challenge: OfflineChallenge, origin: String) {
    let code = Digest.hmacSHA256(key: secret.exposedBytes, challenge.message(origin: origin))
    let start = Int(code[code.count - 1] & 0x0F)
    let number = code[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let text = String(number % Self.modulus)
    digits = Secret(String(repeating: "0", count: Self.count - text.utf8.count) + text)
  }

  /// The secret that one computer and one phone share: HKDF-SHA-256 (RFC 5869) over their ECDH result. No other pair of
  /// keys has it.
  ///
  /// - Parameter agreed: the x coordinate of ECDH (SP 800-56A).
  public static func secret(agreed: Secret, computer: P256PublicKey, phone: P256PublicKey) -> Secret {
    let root = Digest.hmacSHA256(key: Array("iampass offline 1".utf8), agreed.exposedBytes)
    return Secret(bytes: Digest.hmacSHA256(key: root, computer.point + phone.point + [1]))
  }

  /// The time does not depend on the place of a difference.
  public static func == (left: Self, right: Self) -> Bool { left.digits == right.digits }
}
