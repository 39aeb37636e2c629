import IAMPASSProtocol

// The data that the console shows.

/// An application with its counts.
struct ApplicationSummary: Sendable {
  let id: String
  let name: String
  let users: Int64
  let liveSessions: Int64
  let settings: ApplicationSettings
}

/// An application as commands list it.
public struct ListedApplication: Sendable {
  public let id: String
  public let name: String
  public let users: Int64

  init(_ summary: ApplicationSummary) {
    id = summary.id
    name = summary.name
    users = summary.users
  }
}

/// A user in the console's list.
struct UserSummary: Sendable {
  /// The number of users on a page of the list.
  static let pageLength = 50
  /// The most users that one search reads, so that its page costs the same in any company.
  static let reach = 5_000

  let id: Int64
  let known: KnownUser
  /// The user's groups on the list, between spaces; none for a user who is not on it.
  let groups: String
  let phone: String?
  let registeredAt: UnixTime?
  let isAway: Bool
  let lastUsedAt: UnixTime?
}

/// A live session with its user.
struct SessionSummary: Sendable {
  /// The greatest length of a page.
  static let greatestCount = 200

  let session: Session
  let application: String
  let phone: String?
}
