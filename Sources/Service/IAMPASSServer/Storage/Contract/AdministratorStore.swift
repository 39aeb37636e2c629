import IAMPASSProtocol

/// The service's administrators: users of their own application, which has no computers, each with a role. The
/// application is found by its id, because another application may have had its name before.
public protocol AdministratorStore: Sendable {
  /// All administrators, sorted by name.
  func administrators() async throws -> [Administrator]

  /// The id of the administrators' own application; nil if no administrator was added yet.
  func administratorsApplication() async throws -> String?

  /// Adds an administrator. Makes the user and the administrators' application if they are missing.
  func addAdministrator(_ name: String, role: AdministratorRole, at now: UnixTime) async throws -> AdministratorChange

  /// Gives an administrator another role, which applies from the next request on.
  ///
  /// - Parameter keepsOne: whether to refuse a change after which no administrator has the role
  ///   ``AdministratorRole/admin``.
  func setAdministrator(
    _ name: String, role: AdministratorRole, keepsOne: Bool, at now: UnixTime
  ) async throws -> AdministratorChange

  /// Removes an administrator with user, phone and sessions.
  func removeAdministrator(_ name: String, keepsOne: Bool, at now: UnixTime) async throws -> AdministratorChange

  /// Makes a registration link for an administrator's phone.
  ///
  /// - Parameter isLost: whether to revoke the present phone, and end its sessions.
  func invitation(
    ofAdministrator name: String, isLost: Bool, at now: UnixTime
  ) async throws -> AdministratorInvitation
}
