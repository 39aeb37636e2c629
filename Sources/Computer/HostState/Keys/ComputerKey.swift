import HostSystem
import IAMPASSProtocol

/// This computer's key pair for agreement with phones.
///
/// It stays on this computer, in a file that only root can read. A person who has it and a phone's public key can
/// compute the digits that the phone shows for this computer.
struct ComputerKey: Sendable, Equatable {
  private static let version: Int64 = 1

  private let key: AgreementKey
  var publicKey: P256PublicKey { key.publicKey }
  /// The computer's name; see ``ComputerName``.
  let computer: String

  /// Makes a new key pair.
  static func make(for computer: String) throws(OfflineError) -> ComputerKey {
    ComputerKey(key: try AgreementKey.make(), computer: computer)
  }

  private init(key: AgreementKey, computer: String) {
    self.key = key
    self.computer = computer
  }

  /// The secret that this computer shares with the phone of this key.
  func secret(with phone: P256PublicKey) throws(OfflineError) -> Secret {
    OfflineDigits.secret(agreed: try key.agreed(with: phone), computer: publicKey, phone: phone)
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "computer": .string(computer),
      "private": .string(Base64.encode(key.secret.exposedBytes)), "public": .string(publicKey.text),
    ]).encoded()
  }

  /// Nil for bytes that are not a key of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let computer = json["computer"]?.string, let publicKey = json["public"]?.string.flatMap({ P256PublicKey($0) }),
      let secret = json["private"]?.string.flatMap({ Base64.decode($0) }),
      let key = AgreementKey(secret: Secret(bytes: secret), publicKey: publicKey)
    else { return nil }
    self.init(key: key, computer: computer)
  }
}
