import DeviceProtocol
import IAMPASSProtocol

@testable import IAMPASSServer

// NotificationStore.
extension LosingStorage {
  func setNotifications(_ settings: NotificationSettings, of application: String, at now: UnixTime) async throws {
    try await call { try await $0.setNotifications(settings, of: application, at: now) }
  }

  func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool {
    try await call { try await $0.removeNotifications(service, of: application) }
  }

  func notifications(of application: String) async throws -> [NotificationSummary] {
    try await call { try await $0.notifications(of: application) }
  }
}

// UserListPages.
extension LosingStorage {
  func listUser(_ order: UserListOrder) async throws -> ListedUser { try await call { try await $0.listUser(order) } }

  func removeListedUser(_ name: String, of application: String, at now: UnixTime) async throws {
    try await call { try await $0.removeListedUser(name, of: application, at: now) }
  }

  func listedUsers(of application: String) async throws -> [ListedUser] {
    try await call { try await $0.listedUsers(of: application) }
  }

  func listedUsers(_ names: [String], of application: String) async throws -> [ListedUser] {
    try await call { try await $0.listedUsers(names, of: application) }
  }

  func invitation(ofListed name: String, of application: String, isFurther: Bool, at now: UnixTime) async throws
    -> Secret?
  {
    try await call { try await $0.invitation(ofListed: name, of: application, isFurther: isFurther, at: now) }
  }

  func auditEntries(_ ask: HostAuditQuery) async throws -> [AuditEntry] {
    try await call { try await $0.auditEntries(ask) }
  }

  func isKnown(_ sighting: ComputerMarkSighting) async throws -> Bool {
    try await call { try await $0.isKnown(sighting) }
  }

  func renew(_ sightings: [ComputerMarkSighting]) async throws -> [CloneDetector.Finding?] {
    try await call { try await $0.renew(sightings) }
  }

  func record(_ sighting: ComputerMarkSighting) async throws -> CloneDetector.Finding {
    try await call { try await $0.record(sighting) }
  }

  func record(_ reports: [HostReport]) async throws {
    try await call { try await $0.record(reports) }
  }

  func isForked(_ credential: String) async throws -> Bool {
    try await call { try await $0.isForked(credential) }
  }

  func clonedComputers(of application: String) async throws -> [ClonedComputer] {
    try await call { try await $0.clonedComputers(of: application) }
  }

  func settleComputer(named name: String, of application: String, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.settleComputer(named: name, of: application, at: now) }
  }

  func userListPage(_ ask: UserListQuery) async throws -> UserListView {
    try await call { try await $0.userListPage(ask) }
  }

  func userListVersions() async throws -> UserListVersions { try await call { try await $0.userListVersions() } }

  func topics(inAuditAfter id: Int64, of applications: [String]) async throws -> Set<ChangeBoard.Topic> {
    try await call { try await $0.topics(inAuditAfter: id, of: applications) }
  }
}

// JoiningStore.
extension LosingStorage {
  func createJoinCode(_ order: JoinOrder, at now: UnixTime) async throws -> StoredJoinCode {
    try await call { try await $0.createJoinCode(order, at: now) }
  }

  func joinCodes() async throws -> [ListedJoinCode] { try await call { try await $0.joinCodes() } }

  func revokeJoinCode(_ id: String, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.revokeJoinCode(id, at: now) }
  }

  func decideJoin(_ id: String, isApproved: Bool, at now: UnixTime) async throws -> JoinDecision {
    try await call { try await $0.decideJoin(id, isApproved: isApproved, at: now) }
  }

  func join(_ ask: ReceivedJoinRequest, at now: UnixTime) async throws -> JoinVerdict {
    try await call { try await $0.join(ask, at: now) }
  }

  func joinCodes(after id: String) async throws -> JoinCodePage {
    try await call { try await $0.joinCodes(after: id) }
  }

  func waitingJoins(after id: String) async throws -> JoiningPage {
    try await call { try await $0.waitingJoins(after: id) }
  }

  func joinCode(_ id: String, after joining: String) async throws -> JoinCodeOverview? {
    try await call { try await $0.joinCode(id, after: joining) }
  }
}

// ManagementStore.
extension LosingStorage {
  func addUsers(
    _ names: [String], called: [AddUsersRequest.Name], to application: String
  ) async throws -> AddedUsers {
    try await call { try await $0.addUsers(names, called: called, to: application) }
  }

  func deleteUsers(_ names: [String], of application: String, at now: UnixTime) async throws -> [Session] {
    try await call { try await $0.deleteUsers(names, of: application, at: now) }
  }

  func user(_ name: String, of application: String) async throws -> UserRecord? {
    try await call { try await $0.user(name, of: application) }
  }

  func managed(_ id: Int64, of application: String) async throws -> UserRecord? {
    try await call { try await $0.managed(id, of: application) }
  }

  func makeLink(_ order: LinkOrder, at now: UnixTime) async throws -> StoredLink? {
    try await call { try await $0.makeLink(order, at: now) }
  }

  func link(_ code: Secret) async throws -> (link: Link, application: String)? {
    try await call { try await $0.link(code) }
  }

  func phone(registeredBy code: Secret) async throws -> LinkedPhone? {
    try await call { try await $0.phone(registeredBy: code) }
  }

  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal> {
    try await call { try await $0.register(phone, by: code, at: now, deciding: decide) }
  }
}

// SigningRowsStore.
extension LosingStorage {
  func seeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value { try await call { try await $0.seeSigning(work) } }

  func changeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value { try await call { try await $0.changeSigning(work) } }
}

// JoiningStore, of administrators' phones.
extension LosingStorage {
  func waitingJoin(_ id: String) async throws -> WaitingJoin? { try await call { try await $0.waitingJoin(id) } }

  func noteJoinAsk(_ session: String, about joining: String) async throws -> Bool {
    try await call { try await $0.noteJoinAsk(session, about: joining) }
  }
}
