import CHost
import IAMPASSProtocol
import SystemLibcrypto

/// A P-256 key pair for agreement (ECDH), by the system's libcrypto.
struct AgreementKey: Sendable, Equatable {
  /// Bytes of an error text of libcrypto, with the NUL at the end.
  private static let troubleSize = 200
  private static let secretSize = 32

  /// The private number, highest byte first.
  let secret: Secret
  let publicKey: P256PublicKey

  /// Makes a new key pair.
  static func make() throws(OfflineError) -> AgreementKey {
    try open()
    var secret = [UInt8](repeating: 0, count: secretSize)
    var point = [UInt8](repeating: 0, count: 65)
    defer { secret.withUnsafeMutableBytes { Self.wipe($0) } }
    // SAFETY: the arrays have the sizes that the function writes.
    guard iampass_libcrypto_make_key(&secret, &point) == 1, let publicKey = P256PublicKey(point: point),
      let key = AgreementKey(secret: Secret(bytes: secret), publicKey: publicKey)
    else { throw .cannotCompute("libcrypto makes no key") }
    return key
  }

  /// Nil for a secret of another size.
  init?(secret: Secret, publicKey: P256PublicKey) {
    guard secret.exposedBytes.count == Self.secretSize else { return nil }
    self.secret = secret
    self.publicKey = publicKey
  }

  /// The shared secret of both keys' owners: the x coordinate, from which keys are derived.
  func agreed(with other: P256PublicKey) throws(OfflineError) -> Secret {
    try Self.open()
    var agreed = [UInt8](repeating: 0, count: Self.secretSize)
    defer { agreed.withUnsafeMutableBytes { Self.wipe($0) } }
    var own = secret.exposedBytes
    defer { own.withUnsafeMutableBytes { Self.wipe($0) } }
    // SAFETY: the arrays have the sizes that the function reads and writes.
    guard iampass_libcrypto_agree(own, publicKey.point, other.point, &agreed) == 1 else {
      throw .cannotCompute("libcrypto does not take the keys")
    }
    return Secret(bytes: agreed)
  }

  private static func open() throws(OfflineError) {
    var trouble = [CChar](repeating: 0, count: troubleSize)
    guard iampass_libcrypto_open(&trouble, trouble.count) == 1 else {
      let text = String(decoding: trouble.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw .cannotCompute(DisplayText.sanitized(text))
    }
  }

  private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
    // SAFETY: the bytes are the caller's array.
    if let start = bytes.baseAddress { iampass_wipe(start, bytes.count) }
  }
}
