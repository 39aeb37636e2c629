/// The challenge that an authenticator signs together with its own data.
public enum CredentialChallenge {
  /// 32 bytes for making a credential.
  ///
  /// - Parameters:
  ///   - occasion: the link's code at registration, the statement's nonce afterwards.
  ///   - publicKey: ``P256PublicKey/text`` of the phone's own key.
  public static func bytes(for occasion: Secret, publicKey: String) -> [UInt8] {
    Digest.sha256(Array("iampass credential 1\n\(occasion.exposedValue)\n\(publicKey)".utf8))
  }

  /// 32 bytes for an approval. They cover what the phone showed.
  public static func bytes(for statement: JSON) -> [UInt8] { Digest.sha256(statement.canonicallyEncoded()) }
}
