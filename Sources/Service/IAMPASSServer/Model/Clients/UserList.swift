import IAMPASSProtocol

public enum UserListRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case nameNotFit
  case groupNotFit
  case unknownUser
  /// The application has no user with this token, or another listed user has this token.
  case badToken
}

/// A user to be put on a list.
public struct UserListOrder: Sendable {
  /// The application's name or id.
  let application: String
  let name: String
  /// The user's groups; nil: unchanged, or none for a new user.
  let groups: [String]?

  public init(application: String, name: String, groups: [String]?) {
    self.application = application
    self.name = name
    self.groups = groups
  }

  /// Whether computers accept this name.
  static func isName(_ text: String) -> Bool { UserListLine.isName(text) }

  /// The groups in their stored form.
  ///
  /// - Parameter former: the stored groups; nil for a user who is new on the list, or on it again.
  func groups(replacing former: String?) -> String { groups.map(Self.stored) ?? former ?? Self.stored([]) }

  /// The form in the database: between spaces.
  static func stored(_ groups: [String]) -> String { " " + groups.map { $0 + " " }.joined() }

  var refusal: UserListRefusal? {
    guard Self.isName(name) else { return .nameNotFit }
    return groups?.allSatisfy(Self.isName) == false ? .groupNotFit : nil
  }
}

public struct ListedUser: Sendable, Equatable {
  public let name: String
  public let groups: [String]
  public let hasPhone: Bool
  public let isNew: Bool
}

/// A computer's question for its list of users.
struct UserListQuery: Hashable, Sendable {
  /// The id of the computer's credential, or the application's.
  var requester: String
  let application: String
  /// The computer's group; empty: all users.
  let group: String
  /// The version that the computer has; 0 asks for the whole list.
  let since: Int64
  /// The page begins after this name.
  let after: String
}

/// A page of a list, with the service's mark in the view that the page was read from.
///
/// A computer keeps the list under this mark's epoch. A mark that is read later may be of another history, in which the
/// list's version stands for other users.
struct UserListView: Sendable {
  let page: UserListReply
  let mark: ServiceMark

  /// The same for another requester.
  func told(to requester: String) -> UserListView {
    let told = UserListReply(
      credential: requester, version: page.version, since: page.since, count: page.count, changes: page.changes,
      hasMore: page.hasMore)
    return UserListView(page: told, mark: mark)
  }
}

/// A row of the list as it is sent to a computer.
struct UserListRow {
  let name: String
  /// Nil for a user who was removed.
  let token: String?
  let groups: String

  /// - Parameter group: the computer's group; empty: all users.
  func change(for group: String) -> UserListReply.Change {
    guard let token, group.isEmpty || groups.contains(" \(group) ") else { return .removed(name: name) }
    return .listed(name: name, token: Secret(token))
  }
}

extension UserListQuery {
  /// The most rows that are read for a page.
  static let greatestRows: Int64 = 1_200

  /// - Parameters:
  ///   - rows: the rows after ``after``, at most ``greatestRows``.
  ///   - version: the list's.
  ///   - count: the number of users that this computer gets.
  func page(of rows: [UserListRow], version: Int64, count: Int64) -> UserListReply {
    var changes: [UserListReply.Change] = []
    var size = 0
    var isCut = rows.count == Self.greatestRows
    for row in rows {
      let change = row.change(for: group)
      let bytes = change.text.utf8.count + 3
      guard size + bytes <= UserListReply.greatestPage else {
        isCut = true
        break
      }
      size += bytes
      changes.append(change)
    }
    return UserListReply(
      credential: requester, version: version, since: since, count: count, changes: changes, hasMore: isCut)
  }
}
