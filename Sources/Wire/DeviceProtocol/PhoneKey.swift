/// A phone's private key, wherever it is: ``DeviceKey`` holds it in memory; an app may leave it in the phone's hardware.
public protocol PhoneKey: Sendable {
  /// The base64 of the `SubjectPublicKeyInfo` (RFC 5480) of a P-256 key, as ``DevicePublicKey/text``.
  var publicKeyText: String { get throws(DeviceKeyError) }

  /// 64 bytes, r then s: ECDSA over the SHA-256 of `message`.
  func signature(over message: [UInt8]) throws(DeviceKeyError) -> [UInt8]
}

/// A phone's second private key, by which it approves without a network. An app may leave it in the phone's hardware.
public protocol PhoneAgreementKey: Sendable {
  /// As ``PhoneKey/publicKeyText``.
  var publicKeyText: String { get throws(DeviceKeyError) }

  /// 32 bytes: the plain x coordinate of ECDH (SP 800-56A). `point` is the other side's point, uncompressed and on the
  /// curve.
  func agreement(withPoint point: [UInt8]) throws(DeviceKeyError) -> [UInt8]
}

extension DeviceKey: PhoneKey, PhoneAgreementKey {
  public var publicKeyText: String {
    get throws(DeviceKeyError) { try publicKey.text }
  }

  public func agreement(withPoint point: [UInt8]) throws(DeviceKeyError) -> [UInt8] {
    try agreement(with: try DevicePublicKey(point: point))
  }
}
