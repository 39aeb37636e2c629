import IAMPASSProtocol

/// Users by their Unix names, for computers that have their users from the service.
public protocol UserListStore: Sendable {
  /// Puts a user on an application's list, and makes the user if need be. Throws ``UserListRefusal``.
  func listUser(_ order: UserListOrder) async throws -> ListedUser

  /// Deletes a listed user with phone, links and sessions. Throws ``UserListRefusal``.
  func removeListedUser(_ name: String, of application: String, at now: UnixTime) async throws

  /// Users on an application's list, by their names. Throws ``UserListRefusal``.
  func listedUsers(of application: String) async throws -> [ListedUser]

  /// The code of a registration link for a listed user's phone; nil if the user has a phone. Throws ``UserListRefusal``.
  ///
  /// - Parameter isFurther: also for a further phone, if the user may have one.
  func invitation(
    ofListed name: String, of application: String, isFurther: Bool, at now: UnixTime
  ) async throws -> Secret?
}

/// The service's own part of it.
protocol UserListPages: UserListStore {
  /// Those of these users that the list has, in the order of the names.
  ///
  /// - Parameter application: its id.
  func listedUsers(_ names: [String], of application: String) async throws -> [ListedUser]

  /// A page of the list for a computer, and the mark of the same consistent view.
  func userListPage(_ query: UserListQuery) async throws -> UserListView

  func userListVersions() async throws -> UserListVersions

  /// The sessions and users of these applications that the audit names after an entry, such as those of removed users.
  ///
  /// - Parameter applications: their ids.
  func topics(inAuditAfter id: Int64, of applications: [String]) async throws -> Set<ChangeBoard.Topic>
}
