import DeviceProtocol
import IAMPASSProtocol

@testable import IAMPASSServer

// AdministratorStore.
extension LosingStorage {
  func administrators() async throws -> [Administrator] { try await call { try await $0.administrators() } }

  func administratorsApplication() async throws -> String? {
    try await call { try await $0.administratorsApplication() }
  }

  func addAdministrator(_ name: String, role: AdministratorRole, at now: UnixTime) async throws -> AdministratorChange {
    try await call { try await $0.addAdministrator(name, role: role, at: now) }
  }

  func setAdministrator(
    _ name: String, role: AdministratorRole, keepsOne: Bool, at now: UnixTime
  ) async throws -> AdministratorChange {
    try await call { try await $0.setAdministrator(name, role: role, keepsOne: keepsOne, at: now) }
  }

  func removeAdministrator(_ name: String, keepsOne: Bool, at now: UnixTime) async throws -> AdministratorChange {
    try await call { try await $0.removeAdministrator(name, keepsOne: keepsOne, at: now) }
  }

  func invitation(
    ofAdministrator name: String, isLost: Bool, at now: UnixTime
  ) async throws -> AdministratorInvitation {
    try await call { try await $0.invitation(ofAdministrator: name, isLost: isLost, at: now) }
  }
}

// ConsoleStore.
extension LosingStorage {
  func keep(_ ask: ConsoleSignInRequest, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.keep(ask, at: now) }
  }

  func consoleRequest(_ key: Secret, at now: UnixTime) async throws -> ConsoleSignInRequest? {
    try await call { try await $0.consoleRequest(key, at: now) }
  }

  func enterConsole(
    asked ask: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Session? {
    try await call { try await $0.enterConsole(asked: ask, key: key, from: client, at: now) }
  }

  func auditEntries(matching filter: AuditFilter, before id: Int64?, limit: Int) async throws -> AuditPage {
    try await call { try await $0.auditEntries(matching: filter, before: id, limit: limit) }
  }

  func signInCounts(since day: Int64) async throws -> [SignInCount] {
    try await call { try await $0.signInCounts(since: day) }
  }

  func computerPage(_ search: ComputerSearch, at now: UnixTime) async throws -> ComputerPage {
    try await call { try await $0.computerPage(search, at: now) }
  }

  func state(of subject: ConsoleSubject) async throws -> String { try await call { try await $0.state(of: subject) } }

  func createConsoleLink(at now: UnixTime) async throws -> Secret {
    try await call { try await $0.createConsoleLink(at: now) }
  }

  func isUsable(consoleLink code: Secret, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.isUsable(consoleLink: code, at: now) }
  }

  func enterConsole(by code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.enterConsole(by: code, key: key, from: client, at: now) }
  }

  func consoleVisit(_ key: Secret, at now: UnixTime) async throws -> ConsoleVisit? {
    try await call { try await $0.consoleVisit(key, at: now) }
  }

  func markUsed(consoleVisit key: Secret, at now: UnixTime) async throws {
    try await call { try await $0.markUsed(consoleVisit: key, at: now) }
  }

  func leaveConsole(_ key: Secret, at now: UnixTime) async throws {
    try await call { try await $0.leaveConsole(key, at: now) }
  }

  func noteExport(to client: ClientAddress, at now: UnixTime) async throws {
    try await call { try await $0.noteExport(to: client, at: now) }
  }

  func applications() async throws -> [ApplicationSummary] {
    try await call { try await $0.applications() }
  }

  func application(
    _ id: String, usersAfter user: Int64, matching text: String, credentialsAt place: Int64
  ) async throws -> ApplicationOverview? {
    try await call { try await $0.application(id, usersAfter: user, matching: text, credentialsAt: place) }
  }

  func groups(of application: String, after name: String, matching text: String) async throws -> GroupPage? {
    try await call { try await $0.groups(of: application, after: name, matching: text) }
  }

  func group(_ name: String, of application: String, usersAfter user: String) async throws -> GroupOverview? {
    try await call { try await $0.group(name, of: application, usersAfter: user) }
  }

  func liftBlocks(of user: Int64, of application: String, at now: UnixTime) async throws -> RequestBlocks? {
    try await call { try await $0.liftBlocks(of: user, of: application, at: now) }
  }

  func user(_ id: Int64, of application: String) async throws -> UserOverview? {
    try await call { try await $0.user(id, of: application) }
  }

  func liveSessions(matching filter: SessionFilter) async throws -> SessionPage {
    try await call { try await $0.liveSessions(matching: filter) }
  }

  func application(_ id: String) async throws -> Application? {
    try await call { try await $0.application(id) }
  }

  func createApplication(named name: String, matchCodes: MatchCodes, at now: UnixTime) async throws -> Application {
    try await call { try await $0.createApplication(named: name, matchCodes: matchCodes, at: now) }
  }

  func renewSecret(of application: String, to secret: Secret, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.renewSecret(of: application, to: secret, at: now) }
  }

  func setDisabled(_ isDisabled: Bool, of application: String, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.setDisabled(isDisabled, of: application, at: now) }
  }

  func changeSettings(of application: String, by step: @escaping @Sendable (inout ApplicationSettings) throws -> Void)
    async throws
  {
    try await call { try await $0.changeSettings(of: application, by: step) }
  }

  func hostCredential(_ id: String, of application: String) async throws -> KnownCredential? {
    try await call { try await $0.hostCredential(id, of: application) }
  }

  func createHostCredential(named name: String, host: String, of application: String, at now: UnixTime) async throws
    -> HostCredential
  {
    try await call { try await $0.createHostCredential(named: name, host: host, of: application, at: now) }
  }

  func renameCredential(_ id: String, of application: String, to name: String) async throws -> Bool? {
    try await call { try await $0.renameCredential(id, of: application, to: name) }
  }

  func revokeCredential(_ id: String, of application: String, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.revokeCredential(id, of: application, at: now) }
  }
}
