import IAMPASSProtocol

/// Who asks: an application's own credential, or a host's.
public struct ServiceCredential: Sendable {
  public let applicationID: String
  public let secret: Secret
  /// The only host that the credential may ask for; nil for an application's own, and if its file does not say.
  public let host: String?

  public init(applicationID: String, secret: Secret, host: String? = nil) {
    self.applicationID = applicationID
    self.secret = secret
    self.host = host
  }
}
