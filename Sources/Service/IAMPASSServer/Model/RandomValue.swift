import IAMPASSProtocol

/// Random values that the storage cannot do without.
enum RandomValue {
  /// 128 bits as 32 hexadecimal digits.
  static func identifier() throws(StorageError) -> String {
    guard let identifier = Digest.randomIdentifier() else { throw StorageError(.noRandomBytes) }
    return identifier
  }

  static func bytes(_ count: Int) throws(StorageError) -> [UInt8] {
    guard let bytes = Digest.randomBytes(count) else { throw StorageError(.noRandomBytes) }
    return bytes
  }

  /// From 0, each as likely as any other.
  ///
  /// - Parameter bound: 1 to 256.
  static func number(below bound: Int) throws(StorageError) -> Int {
    while true {
      guard let byte = Digest.randomBytes(1)?.first else { throw StorageError(.noRandomBytes) }
      // If the bound does not divide 256, the lower numbers would otherwise come more often.
      if Int(byte) < 256 / bound * bound { return Int(byte) % bound }
    }
  }

  /// 24 bytes as 32 base64 characters: a secret for both signing schemes.
  static func secret() throws(StorageError) -> Secret {
    guard let bytes = Digest.randomBytes(24) else { throw StorageError(.noRandomBytes) }
    return Secret(Base64.encode(bytes))
  }
}
