import IAMPASSProtocol

/// A customer of the service: computers that share users.
public struct Application: Sendable {
  public let id: String
  public let name: String
  public let secret: Secret

  /// Makes an application whose id and secret are known.
  public init(id: String, name: String, secret: Secret) {
    self.id = id
    self.name = name
    self.secret = secret
  }

  /// Without its secret.
  var known: KnownApplication { KnownApplication(id: id, name: name) }

  /// Makes a new id and secret, which are not stored yet. Throws ``ApplicationRefusal``, or if there are no random
  /// bytes.
  public init(new name: String) throws {
    guard Application.isFit(name) else { throw ApplicationRefusal.nameNotFit }
    self.init(id: try RandomValue.identifier(), name: name, secret: try RandomValue.secret())
  }
}

/// An application without its secret, which may be sealed in its row.
struct KnownApplication: Sendable {
  let id: String
  let name: String
}

/// Why an application is not made or not changed.
public enum ApplicationRefusal: Error, Equatable, Sendable {
  case nameTaken
  /// The name is empty, longer than 100 characters, or has control characters.
  case nameNotFit
  case nameUnknown
}

extension Application {
  private static let greatestNameLength = 100

  /// Whether phones can show the name: 1 to 100 characters, none of them a control character.
  public static func isFit(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= greatestNameLength && DisplayText.sanitized(name) == name
  }
}
