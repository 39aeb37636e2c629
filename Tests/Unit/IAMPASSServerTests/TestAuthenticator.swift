import DeviceProtocol
import IAMPASSProtocol

/// A software authenticator for tests. It makes credentials and assertions, and errors in them on request.
struct TestAuthenticator {
  /// The parts that can be wrong.
  struct Wrong {
    var type: String?
    var challenge: [UInt8]?
    var origin: String?
    var crossOrigin: Bool?
    var relyingParty: String?
    /// Touched and verified.
    var flags: UInt8 = 0x05
    var counter: UInt32 = 0
    var algorithm: UInt8 = 0x26
    /// The announced length of the id.
    var announcedLength: Int?
    var more: [UInt8] = []
  }

  static let relyingParty = "iampass.test"

  let key: DeviceKey
  let id: [UInt8]

  init(id: [UInt8] = [1, 2, 3, 255]) throws {
    key = try DeviceKey.generate()
    self.id = id
  }

  func credential(challenge: [UInt8], _ wrong: Wrong = Wrong()) throws -> UnverifiedCredential {
    UnverifiedCredential(
      id: id, publicKey: try key.publicKey.text,
      authenticatorData: head(wrong, flags: wrong.flags | 0x40) + (try attested(wrong)) + wrong.more,
      clientData: clientData("webauthn.create", challenge, wrong))
  }

  func assertion(challenge: [UInt8], _ wrong: Wrong = Wrong()) throws -> UnverifiedAssertion {
    let data = head(wrong, flags: wrong.flags) + wrong.more
    let clientData = clientData("webauthn.get", challenge, wrong)
    let raw = try key.signature(over: data + Digest.sha256(clientData))
    return UnverifiedAssertion(authenticatorData: data, clientData: clientData, signature: Self.der(raw))
  }

  private func head(_ wrong: Wrong, flags: UInt8) -> [UInt8] {
    Digest.sha256(Array((wrong.relyingParty ?? Self.relyingParty).utf8)) + [flags]
      + (0..<4).map { UInt8(truncatingIfNeeded: wrong.counter >> (24 - 8 * $0)) }
  }

  private func attested(_ wrong: Wrong) throws -> [UInt8] {
    let length = wrong.announcedLength ?? id.count
    let point = try key.publicKey.coordinates
    return [UInt8](repeating: 0, count: 16) + [UInt8(length >> 8), UInt8(length & 255)] + id
      + [0xA5, 0x01, 0x02, 0x03, wrong.algorithm, 0x20, 0x01, 0x21, 0x58, 0x20] + point.prefix(32) + [0x22, 0x58, 0x20]
      + point.suffix(32)
  }

  private func clientData(_ type: String, _ challenge: [UInt8], _ wrong: Wrong) -> [UInt8] {
    JSON.object([
      "type": .string(wrong.type ?? type), "challenge": .string(Base64URL.encode(wrong.challenge ?? challenge)),
      "origin": .string(wrong.origin ?? Fixture.origin), "crossOrigin": .bool(wrong.crossOrigin ?? false),
    ]).encoded()
  }

  /// r and s as two integers of ASN.1, as authenticators sign.
  static func der(_ raw: [UInt8]) -> [UInt8] {
    func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
      let short = Array(half.drop { $0 == 0 })
      let padded = (short.first ?? 0x80) >= 0x80 ? [0] + short : short
      return [0x02, UInt8(padded.count)] + padded
    }
    let both = integer(raw.prefix(32)) + integer(raw.suffix(32))
    return [0x30, UInt8(both.count)] + both
  }
}
