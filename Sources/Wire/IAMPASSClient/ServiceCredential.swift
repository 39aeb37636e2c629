import IAMPASSProtocol

/// The credential that signs requests: an application's own, or a host's.
public struct ServiceCredential: Sendable {
  public let applicationID: String
  public let secret: Secret
  /// The only host for which the credential may ask; nil for an application's own, and if its file does not name one.
  public let host: String?

  public init(applicationID: String, secret: Secret, host: String? = nil) {
    self.applicationID = applicationID
    self.secret = secret
    self.host = host
  }
}
