import IAMPASSProtocol

/// The service's administrators: users of an application of its own, which no computer has.
public struct Administrators: Sendable {
  /// What their phones show as the one who asks.
  public static let application = "administrators"

  /// What became of an administrator who was to get a link.
  public enum Invitation: Sendable {
    /// The link's code. It works once, for ``Link/lifetime`` seconds.
    case code(Secret)
    /// The administrator's phone is there already.
    case hasPhone
    /// No user may have this name.
    case nameNotFit
  }

  private let storage: any ServiceStorage

  public init(_ storage: SQLiteStorage) { self.storage = storage }

  /// Whether phones can show the name: 1 to 100 characters, none of them a control character.
  public static func isFit(_ name: String) -> Bool {
    User.isFit(name) && DisplayText.sanitized(name, limit: 100) == name
  }

  /// Makes the administrator, who may be there already, and a link for the phone that they do not have yet.
  public func invite(_ name: String) async throws -> Invitation {
    guard Self.isFit(name) else { return .nameNotFit }
    let application = try await ownApplication()
    _ = try await storage.addUsers([name], to: application)
    guard try await storage.user(name, of: application)?.phone == nil else { return .hasPhone }
    let order = LinkOrder(
      code: Secret(try RandomValue.identifier()), user: name, application: application, displayName: name, loss: nil)
    guard try await storage.makeLink(order, at: storage.now()) != nil else { return .nameNotFit }
    return .code(order.code)
  }

  /// The application's id. It is made if it is missing.
  private func ownApplication() async throws -> String {
    let known = try await storage.applications().first { $0.name == Self.application }
    if let known { return known.id }
    return try await storage.createApplication(named: Self.application, matchCodes: .on, at: storage.now()).id
  }
}
