import IAMPASSProtocol

/// What an administrator may do in the console. Each role may do what the one before it may.
public enum AdministratorRole: String, Sendable, CaseIterable, Comparable {
  /// Reads.
  case auditor
  /// Phones, links and sessions of users; no settings.
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
  /// The number of the user in the administrators' own application; nil if somebody deleted the user.
  public let user: Int64?
  /// What the phone shows; nil if there is no phone.
  public let phone: String?
}

/// What became of a change of administrators.
public enum AdministratorChange: Sendable, Equatable {
  case done
  case nameNotFit
  /// There is an administrator of this name already.
  case nameTaken
  case unknown
  /// Nobody would be left who may change settings.
  case lastAdmin
}

/// What became of an administrator who was to get a link for a phone.
public enum AdministratorInvitation: Sendable {
  /// The link's code. It works once, for ``Link/lifetime`` seconds.
  case code(Secret)
  /// The administrator has a phone already.
  case hasPhone
  case unknown
}

/// What an engine stores of them.
enum AdministratorRule {
  /// The name of the fact that has the own application's id.
  static let fact = "administrators"
  /// What phones show as the one who asks.
  static let application = "administrators"

  /// Whether phones and pages can show the name: 1 to 100 characters, none of them a control character.
  static func isFit(_ name: String) -> Bool {
    User.isFit(name) && DisplayText.sanitized(name, limit: 100) == name && name != ConsoleAccess.linkName
  }

  /// - Parameter admins: the names of all who have the role ``AdministratorRole/admin``.
  static func leavesNobody(without name: String, of admins: [String]) -> Bool { admins == [name] }

  /// A role that this version does not know may do the least.
  static func role(_ word: String) -> AdministratorRole { AdministratorRole(rawValue: word) ?? .auditor }
}
