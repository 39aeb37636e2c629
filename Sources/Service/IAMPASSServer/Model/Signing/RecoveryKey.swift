import DeviceProtocol
import IAMPASSProtocol

/// A key on paper that signs sets of administrators: lost phones do not mean that every computer joins again.
public struct RecoveryKey: Sendable {
  /// It could not be made or used.
  public struct Failure: Error, Sendable {}

  private static let prefix = "IRK1"
  private static let scalarLength = 32
  /// What stands before and after the scalar in a private key (RFC 5915) that has neither its public key nor anything else.
  private static let head: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
  private static let tail: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

  private let key: DeviceKey
  private let scalar: [UInt8]
  public let publicKey: P256PublicKey

  private init(_ scalar: [UInt8]) throws(Failure) {
    do {
      key = try DeviceKey(exported: Secret(Base64.encode(Self.head + scalar + Self.tail)))
      guard let form = P256PublicKey(try key.publicKeyText) else { throw Failure() }
      publicKey = form
    } catch { throw Failure() }
    self.scalar = scalar
  }

  /// A new key from the system's generator.
  public static func generate() throws(Failure) -> RecoveryKey {
    do {
      let exported = Base64.decode(try DeviceKey.generate().exported().exposedValue) ?? []
      // Its DER begins with the scalar, in two more bytes than a short one's.
      guard exported.count > head.count + scalarLength, exported[2..<head.count] == head[2...] else { throw Failure() }
      return try RecoveryKey(Array(exported[head.count..<head.count + scalarLength]))
    } catch { throw Failure() }
  }

  /// Nil for anything but a whole key: two bytes of a digest over the rest tell a mistyped one. Spaces and line ends in it
  /// do not count.
  public init?(_ text: Secret) {
    let typed = String(text.exposedValue.unicodeScalars.filter { $0.value > 0x20 && $0 != "\u{7F}" })
    guard typed.hasPrefix(Self.prefix), let bytes = Base64URL.decode(String(typed.dropFirst(Self.prefix.count))),
      bytes.count == Self.scalarLength + 2
    else { return nil }
    let scalar = Array(bytes.prefix(Self.scalarLength))
    guard Array(Digest.sha256(scalar).prefix(2)) == Array(bytes.suffix(2)), let made = try? RecoveryKey(scalar) else {
      return nil
    }
    self = made
  }

  /// As it is written down. It is the secret.
  public var exposedText: String { Self.prefix + Base64URL.encode(scalar + Digest.sha256(scalar).prefix(2)) }

  public func proof(of set: AdministratorSet) throws(Failure) -> DocumentProof {
    do {
      let text = DocumentProof.recoveryText(of: .administrators(set))
      guard let signature = IAMPASSProtocol.ECDSASignature(raw: try key.signature(over: text)) else { throw Failure() }
      return .recovery(publicKey, signature)
    } catch { throw Failure() }
  }
}
