import IAMPASSProtocol

/// The service, and the variant of the protocol that it uses.
public struct ServiceSettings: Sendable {
  public let server: ServerURL
  public let scheme: SigningScheme
  public let dialect: Dialect
  /// Whether replies without the service's signature are refused.
  public let signedReplies: Bool
  /// Whether replies whose signature does not cover the target are refused. ``signedReplies`` is then true too.
  public let signedTargets: Bool

  public init(
    server: ServerURL, scheme: SigningScheme, dialect: Dialect, signedReplies: Bool, signedTargets: Bool = false
  ) {
    self.server = server
    self.scheme = scheme
    self.dialect = dialect
    self.signedReplies = signedReplies || signedTargets
    self.signedTargets = signedTargets
  }
}
