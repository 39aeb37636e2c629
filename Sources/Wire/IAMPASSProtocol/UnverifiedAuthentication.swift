/// The parts of an `Authentication` header as received. Nothing is verified yet.
public struct UnverifiedAuthentication: Sendable, Equatable {
  public let clientID: String
  /// 1–20 digits below 2^64.
  public let nonce: String
  public let signature: String

  /// Nil if the header has another form. The client's id may itself contain colons.
  public init?(header: String) {
    let words = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, words[0] == "hmac" else { return nil }
    let parts = words[1].split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count >= 3, let signature = parts.last, RequestSigner.nonceValue(String(parts[parts.count - 2])) != nil
    else { return nil }
    clientID = parts.dropLast(2).joined(separator: ":")
    nonce = String(parts[parts.count - 2])
    self.signature = String(signature)
    guard !clientID.isEmpty else { return nil }
  }

  /// Whether `signer` made this signature over these values. Compares in constant time.
  public func isMade(by signer: RequestSigner, timestamp: String, uri: String) -> Bool {
    guard let expected = signer.signature(nonce: nonce, timestamp: timestamp, uri: uri) else { return false }
    return Digest.areEqual(Array(expected.utf8), Array(signature.utf8))
  }
}
