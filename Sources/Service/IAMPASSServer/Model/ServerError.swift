/// Why the service does not begin.
public struct ServerError: Error, Sendable {
  public enum Code: Sendable {
    case certificateUnreadable
    case keyUnreadable
    /// The key is not the certificate's, or TLS does not take them.
    case certificateRefused
  }

  public let code: Code
  /// The file.
  public let subject: String
  /// What the system or the TLS library said.
  public let detail: String

  public init(code: Code, subject: String, detail: String) {
    self.code = code
    self.subject = subject
    self.detail = detail
  }
}
