import IAMPASSProtocol

/// A customer of the service: hosts that share users.
public struct Application: Sendable {
  public let id: String
  public let name: String
  public let secret: Secret
}

/// Why an application is not made, or not changed.
public enum ApplicationRefusal: Error, Equatable, Sendable {
  case nameTaken
  /// Empty, longer than 100 characters, or with control characters.
  case nameNotFit
  case nameUnknown
}

extension Application {
  private static let greatestNameLength = 100

  static func isFit(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= greatestNameLength && DisplayText.sanitized(name) == name
  }
}
