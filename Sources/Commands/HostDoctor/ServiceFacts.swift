import HostState
import IAMPASSClient
import IAMPASSProtocol

/// What came back when the service was asked. ``ServiceJudgement`` says what that means.
public enum ServiceFacts: Sendable, Equatable {
  /// The files do not say enough to ask.
  case misconfigured(Misconfiguration)
  /// The first request, which is not signed, got no complete reply.
  case unreachable(ServiceError)
  case answered(Answer)

  /// What a service that replies made known.
  public struct Answer: Sendable, Equatable {
    /// Milliseconds until the first reply.
    public var milliseconds: Int64
    /// What the service says of itself; nil if it does not have the page for that.
    public var announcement: ServiceAnnouncement?
    /// The service's clock minus ours, in seconds; nil if the reply did not tell.
    public var clockDifference: Int64?
    public var certificateEnd: CertificateEnd
    public var credential: CredentialReply

    public init(
      milliseconds: Int64, announcement: ServiceAnnouncement?, clockDifference: Int64?,
      certificateEnd: CertificateEnd, credential: CredentialReply
    ) {
      self.milliseconds = milliseconds
      self.announcement = announcement
      self.clockDifference = clockDifference
      self.certificateEnd = certificateEnd
      self.credential = credential
    }
  }

  /// When the service's certificate ends.
  public enum CertificateEnd: Sendable, Equatable {
    /// The address is plain http, or the connection leads through a proxy.
    case notAsked
    /// openssl does not say.
    case unknown
    /// In Unix seconds.
    case at(Int64)
  }

  /// The reply to a request that the host's credential signed.
  public enum CredentialReply: Sendable, Equatable {
    /// The credentials file cannot be read. The doctor reports that with the files.
    case notAsked
    /// The request got no reply that can be judged.
    case failed(ServiceError)
    case answered(ServiceProbe.Acceptance)
  }
}
