import IAMPASSProtocol

/// What an administrator may do in the console. Each role may do what the one before it may.
public enum AdministratorRole: String, Sendable, CaseIterable, Comparable {
  /// Reads everything.
  case auditor
  /// Changes phones, links and sessions of users, but no settings.
  case helpdesk
  case admin

  private var rank: Int {
    switch self {
    case .auditor: 0
    case .helpdesk: 1
    case .admin: 2
    }
  }

  public static func < (one: AdministratorRole, other: AdministratorRole) -> Bool { one.rank < other.rank }
}

public struct Administrator: Sendable, Equatable {
  public let name: String
  public let role: AdministratorRole
  /// The number of the user in the administrators' own application; nil if the user was deleted.
  public let user: Int64?
  /// What the phone shows; nil if there is no phone.
  public let phone: String?
}

/// The result of a change of administrators.
public enum AdministratorChange: Sendable, Equatable {
  case done
  case nameNotFit
  /// There already is an administrator of this name.
  case nameTaken
  case unknown
  /// There would be no administrator left who may change settings.
  case lastAdmin
}

/// The result of an order for an administrator's registration link.
public enum AdministratorInvitation: Sendable {
  /// The link's code. It works once, for ``Link/lifetime`` seconds.
  case code(Secret)
  /// The administrator already has a phone.
  case hasPhone
  case unknown
}

/// Rules for administrators, for the storage engines.
enum AdministratorRule {
  /// The name of the fact with the id of the administrators' application.
  static let fact = "administrators"
  /// The application's name on phones.
  static let application = "administrators"

  /// Whether phones and pages can show the name: 1 to 100 characters, none of them a control character.
  static func isFit(_ name: String) -> Bool {
    User.isFit(name) && DisplayText.sanitized(name, limit: 100) == name && name != ConsoleAccess.linkName
  }

  /// - Parameter admins: the names of all administrators with the role ``AdministratorRole/admin``.
  static func leavesNobody(without name: String, of admins: [String]) -> Bool { admins == [name] }

  /// The role of a word. An unknown word has the least rights.
  static func role(_ word: String) -> AdministratorRole { AdministratorRole(rawValue: word) ?? .auditor }
}
