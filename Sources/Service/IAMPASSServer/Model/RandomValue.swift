import IAMPASSProtocol

/// Random values that the storage cannot do without.
enum RandomValue {
  /// 128 bits as 32 hexadecimal digits.
  static func identifier() throws(StorageError) -> String {
    guard let identifier = Digest.randomIdentifier() else { throw StorageError(.noRandomBytes) }
    return identifier
  }

  /// Whether it may be an ``identifier()``: all ids of applications, credentials, sessions and phones are, and the codes of
  /// links. Nothing else needs to be looked for.
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
