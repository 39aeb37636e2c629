import IAMPASSProtocol

/// The keys that sign a session's requests and replies. They do not change after the session's start.
final class SessionKeys: Sendable {
  let id: String
  let token: Secret
  let replySecret: Secret
  /// One signer for each scheme that the session's secret fits.
  let signers: [RequestSigner]

  /// - Throws: ``SealFault`` if the session's secrets are not opened.
  init(_ session: Session) throws(SealFault) {
    id = session.id
    token = session.token
    replySecret = try session.replySecret.value
    signers = RequestSigner.all(client: session.token, secret: try session.secret.value)
  }
}

extension RequestSigner {
  /// A signer for each scheme that the secret fits.
  static func all(client: Secret, secret: Secret) -> [RequestSigner] {
    SigningScheme.allCases.compactMap { try? RequestSigner(client: client, secret: secret, scheme: $0) }
  }
}
