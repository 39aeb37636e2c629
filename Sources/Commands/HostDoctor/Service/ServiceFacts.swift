import HostState
import IAMPASSClient
import IAMPASSProtocol

/// The service's answers. ``ServiceJudgement`` judges them.
public enum ServiceFacts: Sendable, Equatable {
  /// The files are not enough to ask the service.
  case misconfigured(Misconfiguration)
  /// The first request, which is not signed, got no complete reply.
  case unreachable(ServiceError)
  case answered(Answer)

  /// What the replies of a service have shown.
  public struct Answer: Sendable, Equatable {
    /// The time until the first reply, in milliseconds.
    public var milliseconds: Int64
    /// The service's own announcement; nil if it does not have that page.
    public var announcement: ServiceAnnouncement?
    /// The service's clock minus ours, in seconds; nil if the reply did not have it.
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

  /// When the service's certificate expires.
  public enum CertificateEnd: Sendable, Equatable {
    /// The address is plain http, or the connection uses a proxy.
    case notAsked
    /// openssl did not give the time.
    case unknown
    /// The time in Unix seconds.
    case at(Int64)
  }

  /// The reply to a request that the computer's credential has signed.
  public enum CredentialReply: Sendable, Equatable {
    /// The credentials file cannot be read. The doctor reports that with the files.
    case notAsked
    /// The request got no reply that can be judged.
    case failed(ServiceError)
    case answered(ServiceProbe.Acceptance)
  }
}
