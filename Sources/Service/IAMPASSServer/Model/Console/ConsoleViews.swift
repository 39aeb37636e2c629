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

/// A user as the console names him: by what his phone shows, and the beginning of the id that the application chose.
struct UserSummary: Sendable {
  /// The number of users on a page of the list.
  static let pageLength = 50
  /// Longer ids are cut: they are the tokens of computers' users files.
  private static let shownLength = 8

  let id: Int64
  let shownName: String
  /// Those of the list, between spaces; none for a user who is not on it.
  let groups: String
  let phone: String?
  let registeredAt: UnixTime?
  let isAway: Bool
  let lastUsedAt: UnixTime?
  /// When the phone's page was last in view; nil if the phone has no page, or an older one that does not say.
  let lookedAt: UnixTime?

  /// What is shown of an id.
  static func shown(_ name: String) -> String {
    name.count > 2 * shownLength ? name.prefix(shownLength) + "…" : name
  }
}

/// A live session with whose it is.
struct SessionSummary: Sendable {
  /// The greatest length of the list. Older sessions are cut.
  static let greatestCount = 200

  let session: Session
  let application: String
  let phone: String?
}
