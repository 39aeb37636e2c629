import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why no approval of a user could be verified here.
public enum PhoneTrustError: Error, Sendable, Equatable {
  case file(PinnedPhonesError, path: String)
  case gap(TrustGap)
}

/// The phones in `/etc/iampass/phones`, for `approvals = verified`.
public struct PhoneTrust: Sendable {
  /// The file's path.
  public let path: String
  let verifier: any SignatureVerifier

  public init(path: String, verifier: any SignatureVerifier = LibcryptoVerifier()) {
    self.path = path
    self.verifier = verifier
  }

  /// What an approval of this user must prove.
  ///
  /// - Parameter asked: the methods that are enough; none leaves the choice to the phones.
  public func demand(
    of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> ApprovalDemand {
    let phones: [PinnedPhone]
    do { phones = try PinnedPhones(path: path).phones(of: user) } catch { throw .file(error, path: path) }
    do { return try ApprovalDemand(phones: phones, asked: asked, verifier: verifier) } catch { throw .gap(error) }
  }
}

extension HostSetup {
  /// What this computer verifies approvals by; nil if it believes the service.
  public var phoneTrust: PhoneTrust? {
    switch configuration.approvals {
    case .service: nil
    case .verified: PhoneTrust(path: place.phones)
    }
  }
}
