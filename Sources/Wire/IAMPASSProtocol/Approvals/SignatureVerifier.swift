/// Why signatures cannot be checked on this computer: the reason for the log.
public struct VerifierError: Error, Sendable, Equatable {
  public let explanation: String

  public init(_ explanation: String) { self.explanation = explanation }
}

/// Checks signatures. The real verifiers need a library, which a login loads only when necessary.
public protocol SignatureVerifier: Sendable {
  /// Gets ready before the phone is asked.
  ///
  /// - Throws: if this computer cannot check signatures. The phone is then not asked.
  func prepare() throws(VerifierError)

  /// Whether `key` made `signature` over a SHA-256 digest.
  ///
  /// - Parameter digest: 32 bytes.
  /// - Throws: if the check itself fails, for example for lack of memory.
  func verifies(_ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey) throws(VerifierError) -> Bool
}
