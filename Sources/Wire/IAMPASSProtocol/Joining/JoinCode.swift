/// The code that an administrator types on a joining computer. It names the service's certificate, the administrators
/// who sign its list of users, and a secret.
///
/// The computer sends the secret only after it has seen that certificate.
public struct JoinCode: Sendable, Equatable {
  public enum Anchor: UInt8, Sendable {
    /// The digest is an authority's. From then on the computer trusts only this authority for the service.
    case authority = 1
    /// The digest is the service's own certificate's, which counts only for the join. From then on the computer trusts
    /// the system's authorities.
    case certificate = 2
  }

  /// The secret's length in bytes.
  public static let secretLength = 16
  private static let digestLength = 32
  /// The prefix for a service whose lists are not signed. The other prefix is for signed lists.
  private static let prefix = "IJ1"
  private static let fleetPrefix = "IJ2"

  public let anchor: Anchor
  /// SHA-256 of a certificate's DER.
  public let digest: [UInt8]
  /// ``secretLength`` bytes in base64url.
  public let secret: Secret
  /// ``FleetAnchor/digest``; nil: the service's own word counts for the list of users.
  public let fleet: [UInt8]?

  public init(anchor: Anchor, digest: [UInt8], secret: Secret, fleet: [UInt8]? = nil) {
    self.anchor = anchor
    self.digest = digest
    self.secret = secret
    self.fleet = fleet
  }

  /// Nil unless this is a whole code. Two bytes of a digest over the rest reveal a mistyped code.
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

  /// The code as it is typed. Contains the secret.
  public var exposedText: String {
    let bytes = [anchor.rawValue] + digest + (fleet ?? []) + (Base64URL.decode(secret.exposedValue) ?? [])
    return (fleet == nil ? Self.prefix : Self.fleetPrefix) + Base64URL.encode(bytes + Digest.sha256(bytes).prefix(2))
  }

  /// The digest by which the service and the computer find a code without its secret.
  public static func digest(of secret: Secret) -> String { Digest.hexadecimal(Digest.sha256(secret.exposedBytes)) }

  /// Six digits that the computer and the administrator's console show for one join. They differ for another computer
  /// with the same code and name.
  ///
  /// - Parameter secret: the new credential's, which the computer made.
  public static func mark(of secret: Secret) -> String {
    let bytes = Digest.sha256(Array("join".utf8) + secret.exposedBytes)
    let number = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } % 1_000_000
    let digits = String(number)
    return String(repeating: "0", count: 6 - digits.count) + digits
  }
}
