import DeviceProtocol
import IAMPASSProtocol
import Synchronization

@testable import IAMPASSServer

/// A storage that loses its connection at one call: before the call reaches the engine, or after the engine has done it,
/// when the reply is lost. Then nobody knows whether it was done.
final class LosingStorage: ServiceStorage {
  enum Moment: String, CaseIterable, Sendable { case before, after }
  struct ConnectionLost: Error {}

  private struct State {
    var calls = 0
    var lost: String?
    var isDown = false
  }

  let inner: any ServiceStorage
  private let moment: Moment
  private let number: Int
  private let state = Mutex(State())

  /// - Parameter number: of the call at which the connection is lost, from 0.
  init(_ inner: any ServiceStorage, losing number: Int, _ moment: Moment) {
    self.inner = inner
    self.number = number
    self.moment = moment
  }

  /// Loses every connection from now on, or gives them back.
  func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

  /// The call at which the connection was lost; nil while it has not been.
  var lost: String? { state.withLock(\.lost) }

  private func call<Value>(
    _ name: String = #function, _ work: (any ServiceStorage) async throws -> Value
  ) async throws -> Value {
    let (isLost, isDown) = state.withLock { state in
      defer { state.calls += 1 }
      if state.calls == number { state.lost = name }
      return (state.calls == number, state.isDown)
    }
    if isDown || isLost && moment == .before { throw ConnectionLost() }
    let value = try await work(inner)
    if isLost { throw ConnectionLost() }
    return value
  }

  var clock: StorageClock { inner.clock }
  var alarm: StorageAlarm { inner.alarm }
  func trouble(behind error: any Error) -> StorageTrouble {
    error is ConnectionLost ? .other : inner.trouble(behind: error)
  }
}

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

// RequestStore.
extension LosingStorage {
  func starter(_ id: String) async throws -> Starter? {
    try await call { try await $0.starter(id) }
  }

  func settings(of application: String) async throws -> ApplicationSettings {
    try await call { try await $0.settings(of: application) }
  }

  func spend(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.spend(nonce, at: now) }
  }

  func spend(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment? {
    try await call { try await $0.spend(nonce, telling: session, at: now) }
  }

  func noteUse(of credential: String, at now: UnixTime) async throws {
    try await call { try await $0.noteUse(of: credential, at: now) }
  }

  func mark() async throws -> ServiceMark {
    try await call { try await $0.mark() }
  }
}

// SessionStore.
extension LosingStorage {
  func keys(ofSession id: String) async throws -> SessionKeys? {
    try await call { try await $0.keys(ofSession: id) }
  }

  func session(_ id: String) async throws -> Session? {
    try await call { try await $0.session(id) }
  }

  func toldSession(_ id: String) async throws -> ToldSession? {
    try await call { try await $0.toldSession(id) }
  }

  func start(
    _ ask: StartAsk, at now: UnixTime, deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
  ) async throws -> SessionStart {
    try await call { try await $0.start(ask, at: now, deciding: decide) }
  }

  func answer(
    _ id: String, by phone: ActingPhone, at now: UnixTime,
    deciding decide: @escaping @Sendable (PhoneFacts, Session?) throws -> Result<TakenAnswer, Refusal>
  ) async throws -> Result<Session, Refusal> {
    try await call { try await $0.answer(id, by: phone, at: now, deciding: decide) }
  }

  func changeSession(_ id: String, by step: @escaping @Sendable (inout Session) throws -> Bool) async throws -> (
    told: ToldSession, isChanged: Bool
  )? {
    try await call { try await $0.changeSession(id, by: step) }
  }

  func changeSessions(_ selection: SessionSelection, by step: @escaping @Sendable (inout Session) throws -> Bool)
    async throws -> [Session]
  {
    try await call { try await $0.changeSessions(selection, by: step) }
  }
}

// PhoneStore.
extension LosingStorage {
  func phone(_ id: String) async throws -> Phone? {
    try await call { try await $0.phone(id) }
  }

  func keepFace(
    _ isOffered: Bool, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal? {
    try await call { try await $0.keepFace(isOffered, of: phone, at: now, unless: refusal) }
  }

  func markPage(of phone: String) async throws {
    try await call { try await $0.markPage(of: phone) }
  }

  func requests(for phone: ActingPhone) async throws -> PhoneRequests? {
    try await call { try await $0.requests(for: phone) }
  }

  func account(of phone: ActingPhone) async throws -> PhoneAccount {
    try await call { try await $0.account(of: phone) }
  }

  func setPresence(_ presence: Presence, of phone: ActingPhone, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.setPresence(presence, of: phone, at: now) }
  }

  func noteLook(of phone: ActingPhone, at now: UnixTime) async throws {
    try await call { try await $0.noteLook(of: phone, at: now) }
  }

  func endSessions(_ ids: Set<String>, by phone: ActingPhone, at now: UnixTime) async throws -> EndByPhone {
    try await call { try await $0.endSessions(ids, by: phone, at: now) }
  }

  func unregister(_ phone: ActingPhone, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.unregister(phone, at: now) }
  }

  func keepCredential(
    _ credential: VerifiedCredential, pinMAC: String?, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal? {
    try await call { try await $0.keepCredential(credential, pinMAC: pinMAC, of: phone, at: now, unless: refusal) }
  }

  func signingKeys(at now: UnixTime) async throws -> [SigningKey] {
    try await call { try await $0.signingKeys(at: now) }
  }

  func rotateSigningKey(at now: UnixTime) async throws -> [SigningKey] {
    try await call { try await $0.rotateSigningKey(at: now) }
  }

  func pushToken() async throws -> PushToken {
    try await call { try await $0.pushToken() }
  }

  /// Asked for in the background, at any time: not counted.
  func bell(of user: Int64) async throws -> PhoneBell? {
    try await inner.bell(of: user)
  }

  func keepPush(_ way: PushWay?, of phone: ActingPhone, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.keepPush(way, of: phone, at: now) }
  }

  func forget(_ bell: PhoneBell) async throws { try await call { try await $0.forget(bell) } }

  func wasSilent(_ phone: Phone, isAsking: Bool) async throws -> Bool? {
    try await call { try await $0.wasSilent(phone, isAsking: isAsking) }
  }

  func hear(_ phone: Phone, wasSilent: Bool, at now: UnixTime) async throws -> [Session] {
    try await call { try await $0.hear(phone, wasSilent: wasSilent, at: now) }
  }

  func leaveForSilence(since last: PresenceBySilence.Look?, at now: UnixTime) async throws -> (
    look: PresenceBySilence.Look, moved: [Session]
  ) {
    try await call { try await $0.leaveForSilence(since: last, at: now) }
  }
}

// ManagementStore.
extension LosingStorage {
  func addUsers(_ names: [String], to application: String) async throws -> AddedUsers {
    try await call { try await $0.addUsers(names, to: application) }
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

  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal> {
    try await call { try await $0.register(phone, by: code, at: now, deciding: decide) }
  }
}

// ConsoleStore.
extension LosingStorage {
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

  func leaveConsole(_ key: Secret) async throws {
    try await call { try await $0.leaveConsole(key) }
  }

  func applications() async throws -> [ApplicationSummary] {
    try await call { try await $0.applications() }
  }

  func application(_ id: String, usersAfter user: Int64) async throws -> ApplicationOverview? {
    try await call { try await $0.application(id, usersAfter: user) }
  }

  func user(_ id: Int64, of application: String) async throws -> UserOverview? {
    try await call { try await $0.user(id, of: application) }
  }

  func liveSessions() async throws -> [SessionSummary] {
    try await call { try await $0.liveSessions() }
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

  func hostCredential(_ id: String, of application: String) async throws -> HostCredential? {
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

// HousekeepingStore.
extension LosingStorage {
  func keepTime() async throws {
    try await call { try await $0.keepTime() }
  }

  func forgetOld(at now: UnixTime, wall: UnixTime) async throws {
    try await call { try await $0.forgetOld(at: now, wall: wall) }
  }

  func stock() async throws -> StorageStock {
    try await call { try await $0.stock() }
  }

  func answer() async throws {
    try await call { try await $0.answer() }
  }

  func auditEntries(after id: Int64, limit: Int) async throws -> [AuditEntry] {
    try await call { try await $0.auditEntries(after: id, limit: limit) }
  }

  func keptAnswers(after id: Int64, limit: Int) async throws -> [(id: Int64, jsonLine: String)] {
    try await call { try await $0.keptAnswers(after: id, limit: limit) }
  }

  func newestAuditEntries(before id: Int64?, limit: Int) async throws -> [AuditEntry] {
    try await call { try await $0.newestAuditEntries(before: id, limit: limit) }
  }
}
