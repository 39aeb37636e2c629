import IAMPASSProtocol

/// Who asks: an application's own credential, or a host's.
public struct ServiceCredential: Sendable {
  public let applicationID: String
  public let secret: Secret

  public init(applicationID: String, secret: Secret) {
    self.applicationID = applicationID
    self.secret = secret
  }
}
