/// A phone's private key, wherever it is: ``DeviceKey`` holds it in memory; an app may leave it in the phone's hardware.
public protocol PhoneKey: Sendable {
  /// The base64 of the `SubjectPublicKeyInfo` (RFC 5480) of a P-256 key, as ``DevicePublicKey/text``.
  var publicKeyText: String { get throws(DeviceKeyError) }

  /// 64 bytes, r then s: ECDSA over the SHA-256 of `message`.
  func signature(over message: [UInt8]) throws(DeviceKeyError) -> [UInt8]
}

extension DeviceKey: PhoneKey {
  public var publicKeyText: String {
    get throws(DeviceKeyError) { try publicKey.text }
  }
}
