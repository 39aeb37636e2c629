import IAMPASSProtocol

/// Which service, and how it is spoken to.
public struct ServiceSettings: Sendable {
  public let server: ServerURL
  public let scheme: SigningScheme
  public let dialect: Dialect
  /// Refuse replies that do not carry the service's own signature.
  public let signedReplies: Bool
  /// Refuse replies whose signature does not cover what was asked; ``signedReplies`` is then true as well.
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
