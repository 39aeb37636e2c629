import DeviceProtocol
import IAMPASSProtocol

/// A phone's authenticator in software: makes its words as they must be, or around what an input says.
struct Authenticator: Sendable {
  static let relyingParty = Digest.sha256(Array(ServiceFixture.authority.utf8))
  /// Present and verified.
  private static let unlocked: UInt8 = 0x05

  let key: DeviceKey
  let id: [UInt8] = [1, 2, 3, 255]
  /// ``DevicePublicKey/text``.
  let publicKey: String
  /// RFC 9053 §7.1.1, in the one encoding that CTAP 2 allows.
  let coseKey: [UInt8]

  init() throws {
    key = try DeviceKey.generate()
    let point = try key.publicKey
    publicKey = point.text
    coseKey =
      [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point.coordinates.prefix(32) + [0x22, 0x58, 0x20]
      + point.coordinates.suffix(32)
  }

  func credential(challenge: [UInt8]) throws -> UnverifiedCredential {
    let head: [UInt8] = Self.relyingParty + [Self.unlocked | 0x40, 0, 0, 0, 0]
    let data = head + [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + coseKey
    return UnverifiedCredential(
      id: id, publicKey: publicKey, authenticatorData: data,
      clientData: Self.clientData("webauthn.create", challenge))
  }

  func assertion(challenge: [UInt8]) throws -> UnverifiedAssertion {
    try assertion(
      data: Self.relyingParty + [Self.unlocked, 0, 0, 0, 0], clientData: Self.clientData("webauthn.get", challenge))
  }

  /// Signs whatever it is given.
  func assertion(data: [UInt8], clientData: [UInt8]) throws -> UnverifiedAssertion {
    let raw = try key.signature(over: data + Digest.sha256(clientData))
    return UnverifiedAssertion(authenticatorData: data, clientData: clientData, signature: Self.der(raw))
  }

  private static func clientData(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
    JSON.object([
      "type": .string(type), "challenge": .string(Base64URL.encode(challenge)),
      "origin": .string(ServiceFixture.origin),
    ]).encoded()
  }

  /// r and s as two integers of ASN.1.
  private static func der(_ raw: [UInt8]) -> [UInt8] {
    func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
      let short = Array(half.drop { $0 == 0 })
      let padded = (short.first ?? 0x80) >= 0x80 ? [0] + short : short
      return [0x02, UInt8(padded.count)] + padded
    }
    let both = integer(raw.prefix(32)) + integer(raw.suffix(32))
    return [0x30, UInt8(both.count)] + both
  }
}
