import DeviceProtocol
import IAMPASSProtocol

/// Why a text is refused as the link of a computer without a network.
public enum OfflineLinkError: Error, Equatable, Sendable {
  /// Not such a link, or not the whole of it.
  case notALink
  /// The link leads to another service than the account's. It comes from outside: sanitize it before showing it.
  case otherService(String)
}

extension PhoneAccount {
  /// The question in a link that a computer without a network shows. Show the whole question to the user, who decides.
  ///
  /// - Parameter link: the whole link, or its part from `offline=` on.
  public func offlineChallenge(in link: String) throws(OfflineLinkError) -> OfflineChallenge {
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let fragment = parts.last, let challenge = OfflineChallenge(text: fragment) else { throw .notALink }
    let page = server.route(["phone", ""])
    if parts.count == 2, !parts[0].isEmpty, parts[0] != page { throw .otherService(parts[0]) }
    return challenge
  }

  /// The digits by which this phone approves. The computer accepts them once, within two minutes.
  ///
  /// Ask the user first; under the method `device`, have them unlock the phone.
  ///
  /// - Throws: ``PhoneError/methodNotSupported`` if the account has no ``agreementKey``.
  public func offlineDigits(for challenge: OfflineChallenge) throws(PhoneError) -> OfflineDigits {
    guard let agreementKey else { throw .methodNotSupported }
    return try keyed { () throws(DeviceKeyError) in
      let own = try agreementKey.publicKeyText
      guard let phone = P256PublicKey(own) else { throw .notAKey }
      let agreed = Secret(bytes: try agreementKey.agreement(withPoint: challenge.computer.point))
      let secret = OfflineDigits.secret(agreed: agreed, computer: challenge.computer, phone: phone)
      return OfflineDigits(secret: secret, challenge: challenge, origin: server.origin)
    }
  }
}
