import IAMPASSProtocol

// What the console shows.

/// An application with its numbers.
struct ApplicationSummary: Sendable {
  let id: String
  let name: String
  let users: Int64
  let liveSessions: Int64
  let settings: ApplicationSettings
}

/// A user as the console lists them.
struct UserSummary: Sendable {
  /// The number of users on a page of the list.
  static let pageLength = 50
  /// The number of users that one search looks through, at most.
  static let reach: Int64 = 10_000

  let id: Int64
  let known: KnownUser
  /// Those of the list, between spaces; none for a user who is not on it.
  let groups: String
  let phone: String?
  let registeredAt: UnixTime?
  let isAway: Bool
  let lastUsedAt: UnixTime?
}

/// A live session with whose it is.
struct SessionSummary: Sendable {
  /// The greatest length of the list. Older sessions are cut.
  static let greatestCount = 200

  let session: Session
  let application: String
  let phone: String?
}
