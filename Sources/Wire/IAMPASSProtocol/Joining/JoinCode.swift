/// What an administrator types on a computer that is to join: which certificate the service has, whose phones sign its
/// list of users, and a secret.
///
/// The computer believes nothing before it has seen that certificate, and only then sends the secret.
public struct JoinCode: Sendable, Equatable {
  public enum Anchor: UInt8, Sendable {
    /// The digest is that of an authority, which the computer trusts for the service from then on, and no other.
    case authority = 1
    /// The digest is that of the service's own certificate, which counts for the join. From then on the computer trusts
    /// the system's authorities.
    case certificate = 2
  }

  /// Bytes.
  public static let secretLength = 16
  private static let digestLength = 32
  /// The code of a service whose lists nobody signs; the other is that of one whose administrators sign them.
  private static let prefix = "IJ1"
  private static let fleetPrefix = "IJ2"

  public let anchor: Anchor
  /// SHA-256 of a certificate's DER.
  public let digest: [UInt8]
  /// ``secretLength`` bytes in base64url.
  public let secret: Secret
  /// ``FleetAnchor/digest``; nil: the service's own word is taken for the list of users.
  public let fleet: [UInt8]?

  public init(anchor: Anchor, digest: [UInt8], secret: Secret, fleet: [UInt8]? = nil) {
    self.anchor = anchor
    self.digest = digest
    self.secret = secret
    self.fleet = fleet
  }

  /// Nil for anything but a whole code. Two bytes of a digest over the rest tell a mistyped one.
  public init?(_ text: String) {
    let hasFleet = text.hasPrefix(Self.fleetPrefix)
    let digestsLength = (hasFleet ? 2 : 1) * Self.digestLength
    guard hasFleet || text.hasPrefix(Self.prefix), let bytes = Base64URL.decode(String(text.dropFirst(3))),
      bytes.count == 1 + digestsLength + Self.secretLength + 2, let anchor = Anchor(rawValue: bytes[0]),
      Array(Digest.sha256(Array(bytes.dropLast(2))).prefix(2)) == Array(bytes.suffix(2))
    else { return nil }
    let digests = bytes[1..<(1 + digestsLength)]
    self.init(
      anchor: anchor, digest: Array(digests.prefix(Self.digestLength)),
      secret: Secret(Base64URL.encode(Array(bytes.dropFirst(1 + digestsLength).prefix(Self.secretLength)))),
      fleet: hasFleet ? Array(digests.suffix(Self.digestLength)) : nil)
  }

  /// As it is typed. It holds the secret.
  public var exposedText: String {
    let bytes = [anchor.rawValue] + digest + (fleet ?? []) + (Base64URL.decode(secret.exposedValue) ?? [])
    return (fleet == nil ? Self.prefix : Self.fleetPrefix) + Base64URL.encode(bytes + Digest.sha256(bytes).prefix(2))
  }

  /// By which the service and the computer find a code again without its secret.
  public static func digest(of secret: Secret) -> String { Digest.hexadecimal(Digest.sha256(secret.exposedBytes)) }

  /// Six digits that the computer's screen and the administrator's show for one join, so that another computer with the
  /// same code and name is told from it.
  ///
  /// - Parameter secret: the new credential's, which the computer made.
  public static func mark(of secret: Secret) -> String {
    let bytes = Digest.sha256(Array("join".utf8) + secret.exposedBytes)
    let number = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } % 1_000_000
    let digits = String(number)
    return String(repeating: "0", count: 6 - digits.count) + digits
  }
}
