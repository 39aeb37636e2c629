import IAMPASSProtocol

/// A group of users, as the console lists it.
struct UserGroup: Sendable, Equatable {
  /// The number of groups on a page.
  static let pageLength = 50

  let name: String
  let users: Int64
  /// The number of usable credentials of computers that have the users of this group only.
  let computers: Int64
  /// The number of codes by which computers can still join this group.
  let codes: Int64
}

/// A page of an application's groups, from one consistent view.
struct GroupPage: Sendable {
  /// The application's name.
  let application: String
  let groups: [UserGroup]
  /// The list continues after this group; nil if there are no more.
  let further: String?
}

/// A group and a page of its users, from one consistent view.
struct GroupOverview: Sendable {
  /// The application's name.
  let application: String
  let group: UserGroup
  let users: [UserSummary]
  /// The list continues after the user with this name; nil if there are no more.
  let further: String?
}
