import IAMPASSClient
import IAMPASSProtocol
import SystemLibcrypto

/// Verifies signatures with the system's libcrypto, which is loaded when it is first needed.
public struct LibcryptoVerifier: SignatureVerifier {
  /// Bytes of an error text of libcrypto, with the NUL at the end.
  private static let troubleSize = 200

  public init() {}

  /// Loads the library and checks two known signatures with it, one valid and one not. A library that accepts the
  /// invalid one is not used.
  public func prepare() throws(VerifierError) {
    var trouble = [CChar](repeating: 0, count: Self.troubleSize)
    guard iampass_libcrypto_open(&trouble, trouble.count) == 1 else {
      let text = String(decoding: trouble.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw VerifierError(text.isEmpty ? "libcrypto cannot be opened" : DisplayText.sanitized(text))
    }
    guard let known = KnownSignature.sample else { throw VerifierError("the known signature is damaged") }
    var wrong = known.digest
    wrong[0] ^= 1
    guard try verifies(known.signature, over: known.digest, by: known.key),
      try !verifies(known.signature, over: wrong, by: known.key)
    else { throw VerifierError("libcrypto gives wrong answers") }
  }

  public func verifies(
    _ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey
  ) throws(VerifierError) -> Bool {
    let der = signature.der
    guard digest.count == 32 else { throw VerifierError("a digest of \(digest.count) bytes") }
    // SAFETY: the arrays have the sizes that the function reads, and outlive the call.
    switch iampass_libcrypto_verify(key.point, digest, der, der.count) {
    case 1: return true
    case 0: return false
    // The key and the signature have a valid form, so libcrypto itself has failed.
    default: throw VerifierError("libcrypto cannot check a signature now, for example for lack of memory")
    }
  }
}

/// The example of RFC 6979, appendix A.2.5, for SHA-256 over the text "sample".
private struct KnownSignature {
  let key: P256PublicKey
  let digest: [UInt8]
  let signature: ECDSASignature

  static let sample = KnownSignature()

  private init?() {
    let x: [UInt8] = [
      0x60, 0xFE, 0xD4, 0xBA, 0x25, 0x5A, 0x9D, 0x31, 0xC9, 0x61, 0xEB, 0x74, 0xC6, 0x35, 0x6D, 0x68, 0xC0, 0x49, 0xB8,
      0x92, 0x3B, 0x61, 0xFA, 0x6C, 0xE6, 0x69, 0x62, 0x2E, 0x60, 0xF2, 0x9F, 0xB6,
    ]
    let y: [UInt8] = [
      0x79, 0x03, 0xFE, 0x10, 0x08, 0xB8, 0xBC, 0x99, 0xA4, 0x1A, 0xE9, 0xE9, 0x56, 0x28, 0xBC, 0x64, 0xF2, 0xF1, 0xB2,
      0x0C, 0x2D, 0x7E, 0x9F, 0x51, 0x77, 0xA3, 0xC2, 0x94, 0xD4, 0x46, 0x22, 0x99,
    ]
    let r: [UInt8] = [
      0xEF, 0xD4, 0x8B, 0x2A, 0xAC, 0xB6, 0xA8, 0xFD, 0x11, 0x40, 0xDD, 0x9C, 0xD4, 0x5E, 0x81, 0xD6, 0x9D, 0x2C, 0x87,
      0x7B, 0x56, 0xAA, 0xF9, 0x91, 0xC3, 0x4D, 0x0E, 0xA8, 0x4E, 0xAF, 0x37, 0x16,
    ]
    let s: [UInt8] = [
      0xF7, 0xCB, 0x1C, 0x94, 0x2D, 0x65, 0x7C, 0x41, 0xD4, 0x36, 0xC7, 0xA1, 0xB6, 0xE2, 0x9F, 0x65, 0xF3, 0xE9, 0x00,
      0xDB, 0xB9, 0xAF, 0xF4, 0x06, 0x4D, 0xC4, 0xAB, 0x2F, 0x84, 0x3A, 0xCD, 0xA8,
    ]
    guard let key = P256PublicKey(point: [0x04] + x + y), let signature = ECDSASignature(raw: r + s) else { return nil }
    self.key = key
    self.signature = signature
    digest = Digest.sha256(Array("sample".utf8))
  }
}
