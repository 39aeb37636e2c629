import IAMPASSProtocol

/// Random values for the storage.
enum RandomValue {
  /// 128 bits as 32 hexadecimal digits.
  static func identifier() throws(StorageError) -> String {
    guard let identifier = Digest.randomIdentifier() else { throw StorageError(.noRandomBytes) }
    return identifier
  }

  /// Whether it has the form of an ``identifier()``. All ids of applications, credentials, sessions and phones have it,
  /// and codes of links too. Other texts need no look-up.
  static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }

  static func bytes(_ count: Int) throws(StorageError) -> [UInt8] {
    guard let bytes = Digest.randomBytes(count) else { throw StorageError(.noRandomBytes) }
    return bytes
  }

  /// A random number from 0, uniformly distributed.
  ///
  /// - Parameter bound: the upper bound, 1 to 256.
  static func number(below bound: Int) throws(StorageError) -> Int {
    while true {
      guard let byte = Digest.randomBytes(1)?.first else { throw StorageError(.noRandomBytes) }
      // Without this, lower numbers would come more often if the bound does not divide 256.
      if Int(byte) < 256 / bound * bound { return Int(byte) % bound }
    }
  }

  /// 24 bytes as 32 base64 characters: a secret for both signing schemes.
  static func secret() throws(StorageError) -> Secret {
    guard let bytes = Digest.randomBytes(24) else { throw StorageError(.noRandomBytes) }
    return Secret(Base64.encode(bytes))
  }
}
