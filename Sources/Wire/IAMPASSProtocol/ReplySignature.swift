/// The service's signatures over a reply (an extension of `iampass-server`).
public enum ReplySignature {
  public static let header = "X-IAMPASS-Reply-Signature"
  /// The header of ``targetSignature(secret:nonce:method:address:status:body:)``.
  public static let targetHeader = "X-IAMPASS-Reply-Target-Signature"

  /// - Parameters:
  /// - secret: the secret of the application or host credential that started the session, never the session's own.
  ///   - nonce: the request's nonce, as sent.
  public static func signature(secret: Secret, nonce: String, status: Int, body: [UInt8]) -> String {
    let key = Digest.sha256(Array("reply".utf8) + secret.exposedBytes)
    return Base64.encode(Digest.hmacSHA256(key: key, Array((nonce + String(status)).utf8) + body))
  }

  /// A signature that also covers what was requested. It does not fit a reply to another request with the same nonce.
  ///
  /// - Parameters:
  ///   - secret: as for ``signature(secret:nonce:status:body:)``.
  ///   - nonce: the request's nonce, as sent.
  /// - method: the request's method, in capitals.
  /// - address: the part of its address that the request's own signature covers, see ``RequestSigner/covered(_:)``.
  public static func targetSignature(
    secret: Secret, nonce: String, method: String, address: String, status: Int, body: [UInt8]
  ) -> String {
    let key = Digest.sha256(Array("reply to target".utf8) + secret.exposedBytes)
    // None of the four fields can contain a newline, so that text cannot move between them.
    let head = "\(nonce)\n\(method)\n\(address)\n\(status)\n"
    return Base64.encode(Digest.hmacSHA256(key: key, Array(head.utf8) + body))
  }
}
