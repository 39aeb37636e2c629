import IAMPASSProtocol

/// The service's administrators: users of an application of its own, which no computer has, each with a role. The
/// application is known by its id: another application may have had its name before.
public protocol AdministratorStore: Sendable {
  /// All, by their names.
  func administrators() async throws -> [Administrator]

  /// The id of the administrators' own application; nil if nobody was added yet.
  func administratorsApplication() async throws -> String?

  /// Adds an administrator, and makes the user and the own application if need be.
  func addAdministrator(_ name: String, role: AdministratorRole, at now: UnixTime) async throws -> AdministratorChange

  /// Gives an administrator another role. It holds from the next request on.
  ///
  /// - Parameter keepsOne: refuses to leave nobody with the role ``AdministratorRole/admin``.
  func setAdministrator(
    _ name: String, role: AdministratorRole, keepsOne: Bool, at now: UnixTime
  ) async throws -> AdministratorChange

  /// Removes an administrator with user, phone and sessions.
  func removeAdministrator(_ name: String, keepsOne: Bool, at now: UnixTime) async throws -> AdministratorChange

  /// A registration link for an administrator's phone.
  ///
  /// - Parameter isLost: cuts off the phone that there is, and ends its sessions.
  func invitation(
    ofAdministrator name: String, isLost: Bool, at now: UnixTime
  ) async throws -> AdministratorInvitation
}
