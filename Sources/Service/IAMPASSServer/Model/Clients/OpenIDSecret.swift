import IAMPASSProtocol

/// The secret of an OpenID client.
enum OpenIDSecret {
  /// Printable, since it also stands in forms.
  static func new() throws -> Secret { Secret(Base64URL.encode(try RandomValue.bytes(32))) }

  /// The digest of a client's secret, in whose place it is stored: the service never needs the secret itself.
  static func stored(_ secret: Secret) -> Secret { Secret(Base64.encode(Digest.sha256(secret.exposedBytes))) }
}
