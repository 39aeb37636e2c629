/// Why the service does not start.
public struct ServerError: Error, Sendable {
  public enum Code: Sendable {
    case certificateUnreadable
    case keyUnreadable
    /// The key does not belong to the certificate, or TLS does not accept them.
    case certificateRefused
  }

  public let code: Code
  /// The file's path.
  public let subject: String
  /// The message of the system or the TLS library.
  public let detail: String

  public init(code: Code, subject: String, detail: String) {
    self.code = code
    self.subject = subject
    self.detail = detail
  }
}
