import CLibcrypto
import IAMPASSProtocol

/// Verifies signatures of administrators' documents by libcrypto, at the service and on a phone.
public struct DeviceVerifier: SignatureVerifier {
  public init() {}

  public func prepare() throws(VerifierError) {
    guard iampass_crypto_start() == 1 else { throw VerifierError("libcrypto does not start") }
  }

  public func verifies(
    _ signature: IAMPASSProtocol.ECDSASignature, over digest: [UInt8], by key: P256PublicKey
  ) throws(VerifierError) -> Bool {
    guard digest.count == 32 else { throw VerifierError("a digest of \(digest.count) bytes") }
    let opened: DevicePublicKey
    do { opened = try DevicePublicKey(key.text) } catch { throw VerifierError("libcrypto does not take a key") }
    return opened.verifies(signature.raw, overDigest: digest)
  }
}
