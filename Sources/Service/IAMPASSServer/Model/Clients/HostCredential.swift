import IAMPASSProtocol

/// A credential of an application for one computer, or for one program that speaks OpenID Connect. It reaches sign-ins
/// alone, and says where they are from.
public struct HostCredential: Sendable {
  public let id: String
  public let application: String
  /// How administrators call it.
  public let name: String
  /// What phones are told, whatever the computer says of itself.
  public let host: String
  public let secret: Secret
  public let createdAt: UnixTime
  /// To the minute.
  public let lastUsedAt: UnixTime?
  public let revokedAt: UnixTime?
  /// It is an OpenID client's, whose secret is stored as a digest: ``OpenIDClientCheck/stored(_:)``.
  public var isOpenID = false
  /// Which users its computer has from the service: those of this group; empty: all.
  public var group = ""

  public var isRevoked: Bool { revokedAt != nil }
}

/// Why there is no new host credential, or none to revoke.
public enum HostCredentialRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case nameTaken
  /// Empty, longer than 100 characters, or with control characters.
  case nameNotFit
  case hostNotFit
  case unknownCredential
}

extension HostCredential {
  private static let greatestLength = 100
  /// The time between two notes of the last use, in seconds. Each is part of a write that is made anyway.
  static let useInterval: Int64 = 60

  static func isFit(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.count <= greatestLength && DisplayText.sanitized(text) == text
  }

  /// With times for people.
  func dated(by clock: StorageClock) -> HostCredential {
    HostCredential(
      id: id, application: application, name: name, host: host, secret: secret,
      createdAt: clock.unixTime(of: createdAt), lastUsedAt: lastUsedAt.map(clock.unixTime),
      revokedAt: revokedAt.map(clock.unixTime), isOpenID: isOpenID, group: group)
  }
}
