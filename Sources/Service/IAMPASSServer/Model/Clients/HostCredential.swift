import IAMPASSProtocol

/// A credential of an application for one computer, or for one program that speaks OpenID Connect. It can only start
/// sign-ins, and names their computer. Its secret may be sealed in its row, and is not here.
public struct KnownCredential: Sendable {
  public let id: String
  public let application: String
  /// The administrators' name for it.
  public let name: String
  /// The computer's name on phones, whatever name the computer sends.
  public let host: String
  public let createdAt: UnixTime
  /// When it was last used, to the minute.
  public let lastUsedAt: UnixTime?
  public let revokedAt: UnixTime?
  /// Whether it belongs to an OpenID client, of whose secret a digest is stored: ``OpenIDSecret/stored(_:)``.
  public var isOpenID = false
  /// The group of users that its computer gets from the service; empty: all users.
  public var group = ""

  public var isRevoked: Bool { revokedAt != nil }
}

/// A credential with its secret, as it is when it is made.
@dynamicMemberLookup
public struct HostCredential: Sendable {
  public let known: KnownCredential
  public let secret: Secret

  init(
    id: String, application: String, name: String, host: String, secret: Secret, createdAt: UnixTime,
    lastUsedAt: UnixTime?, revokedAt: UnixTime?, isOpenID: Bool = false, group: String = ""
  ) {
    known = KnownCredential(
      id: id, application: application, name: name, host: host, createdAt: createdAt, lastUsedAt: lastUsedAt,
      revokedAt: revokedAt, isOpenID: isOpenID, group: group)
    self.secret = secret
  }

  public subscript<Value>(dynamicMember path: KeyPath<KnownCredential, Value>) -> Value { known[keyPath: path] }
}

/// Why a host credential is not made or not revoked.
public enum HostCredentialRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case nameTaken
  /// The name is empty, longer than 100 characters, or has control characters.
  case nameNotFit
  case hostNotFit
  case unknownCredential
}

extension HostCredential {
  private static let greatestLength = 100
  /// The least time between two notes of the last use, in seconds. Each is part of a write that is made anyway.
  static let useInterval: Int64 = 60

  /// The number of credentials on a page of the console's list.
  static let pageLength: Int64 = 50
  /// The last place at which a page may begin.
  static let greatestPlace: Int64 = 1_000_000

  static func isFit(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.count <= greatestLength && DisplayText.sanitized(text) == text
  }
}

extension KnownCredential {
  /// The same with times in confirmed Unix time, for people.
  func dated(by clock: StorageClock) -> KnownCredential {
    KnownCredential(
      id: id, application: application, name: name, host: host,
      createdAt: clock.unixTime(of: createdAt), lastUsedAt: lastUsedAt.map(clock.unixTime),
      revokedAt: revokedAt.map(clock.unixTime), isOpenID: isOpenID, group: group)
  }
}
