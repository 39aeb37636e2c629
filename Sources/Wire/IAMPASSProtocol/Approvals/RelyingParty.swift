/// Why an authenticator's credential or assertion is not accepted. The raw values are for the log.
public enum CredentialRefusal: String, Error, Sendable {
  case clientData
  /// Another ceremony: `webauthn.get` for `webauthn.create`, or the reverse.
  case type
  case challenge
  case origin
  case authenticatorData
  case relyingParty
  case userNotPresent
  case userNotVerified
  case key
  case credentialID
  case counter
  /// Whether the credential may be synced has changed, which no authenticator does.
  case backupEligibility
  case signature
}

/// The checks of Web Authentication, level 2, §7.1 and §7.2, that need no key: the challenge, the page, and the
/// authenticator's verification of its user.
public struct RelyingParty: Sendable {
  /// The greatest length in bytes. Browsers write a few hundred.
  private static let greatestClientData = 4_096

  /// Scheme, host and port, as the browser spells it.
  public let origin: String

  public init(origin: String) { self.origin = origin }

  /// The host of the origin, without a port: the browsers' default.
  public var id: String {
    let authority = origin.drop { $0 != "/" }.dropFirst(2)
    return String(authority.prefix { $0 != ":" })
  }

  /// Why the client data are refused; nil if they belong to this ceremony, challenge and page.
  ///
  /// - Parameter type: `webauthn.create` or `webauthn.get`.
  public func refusal(of clientData: [UInt8], type: String, challenge: [UInt8]) -> CredentialRefusal? {
    guard clientData.count <= Self.greatestClientData, let json = try? JSON(parsing: clientData) else {
      return .clientData
    }
    guard json["type"]?.string == type else { return .type }
    guard let signed = json["challenge"]?.string.flatMap(Base64URL.decode), Digest.areEqual(signed, challenge) else {
      return .challenge
    }
    // A user could unknowingly tap our page inside another site's page.
    guard json["origin"]?.string == origin, [nil, .bool(false)].contains(json["crossOrigin"]) else { return .origin }
    return nil
  }

  /// Why the data are refused; nil if they say that the authenticator verified its user for this relying party.
  public func refusal(of data: UnverifiedAuthenticatorData) -> CredentialRefusal? {
    guard data.rpIDHash == Digest.sha256(Array(id.utf8)) else { return .relyingParty }
    guard data.flags.contains(.userPresent) else { return .userNotPresent }
    guard data.flags.contains(.userVerified) else { return .userNotVerified }
    return nil
  }
}
