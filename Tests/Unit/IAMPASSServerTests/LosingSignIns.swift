import DeviceProtocol
import IAMPASSProtocol

@testable import IAMPASSServer

// RequestStore.
extension LosingStorage {
  func signInClient(_ id: String) async throws -> SignInClient? {
    try await call { try await $0.signInClient(id) }
  }

  func signInClients(_ ids: [String]) async throws -> [String: Result<SignInClient, any Error>] {
    try await call { try await $0.signInClients(ids) }
  }

  func settings(of application: String) async throws -> ApplicationSettings {
    try await call { try await $0.settings(of: application) }
  }

  func useNonce(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.useNonce(nonce, at: now) }
  }

  func useNonce(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment? {
    try await call { try await $0.useNonce(nonce, telling: session, at: now) }
  }

  func useNonce(
    _ nonce: SignedNonce, reading id: String, at now: UnixTime
  ) async throws -> (isNew: Bool, signInClient: SignInClient?) {
    try await call { try await $0.useNonce(nonce, reading: id, at: now) }
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

  /// From memory, which is not lost.
  func knownKeys(ofSession id: String) -> SessionKeys? { remembersKeys ? inner.knownKeys(ofSession: id) : nil }

  func session(_ id: String) async throws -> Session? {
    try await call { try await $0.session(id) }
  }

  func record(_ use: CodeUse, of name: String, by signInClient: SignInClient, at now: UnixTime) async throws
    -> CodeUseOutcome
  {
    try await call { try await $0.record(use, of: name, by: signInClient, at: now) }
  }

  func sessionView(_ id: String) async throws -> SessionView? {
    try await call { try await $0.sessionView(id) }
  }

  func sessionViews(_ ids: [String]) async throws -> [String: Result<SessionView, any Error>] {
    try await call { try await $0.sessionViews(ids) }
  }

  func start(
    _ ask: SessionStartRequest, at now: UnixTime,
    deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
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
    view: SessionView, isChanged: Bool
  )? {
    try await call { try await $0.changeSession(id, by: step) }
  }

  func changeSession(
    _ known: SessionView, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)? {
    try await call { try await $0.changeSession(known, by: step) }
  }

  func endOverdue(at now: UnixTime, after place: OverdueCursor?, limit: Int) async throws -> OverduePortion {
    try await call { try await $0.endOverdue(at: now, after: place, limit: limit) }
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

  func requests(for phone: ActingPhone, at now: UnixTime) async throws -> PhoneRequests? {
    try await call { try await $0.requests(for: phone, at: now) }
  }

  func account(of phone: ActingPhone, at now: UnixTime) async throws -> PhoneAccount {
    try await call { try await $0.account(of: phone, at: now) }
  }

  func pageState(of phone: ActingPhone, at now: UnixTime) async throws -> PageState? {
    try await call { try await $0.pageState(of: phone, at: now) }
  }

  func setPresence(_ presence: Presence, of phone: ActingPhone, at now: UnixTime) async throws -> [Session]? {
    try await call { try await $0.setPresence(presence, of: phone, at: now) }
  }

  func notePageView(of phone: ActingPhone, at now: UnixTime) async throws {
    try await call { try await $0.notePageView(of: phone, at: now) }
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

  func rotateSigningKey(at now: UnixTime, isUrgent: Bool) async throws -> [SigningKey]? {
    try await call { try await $0.rotateSigningKey(at: now, isUrgent: isUrgent) }
  }

  func pushToken() async throws -> PushToken {
    try await call { try await $0.pushToken() }
  }

  /// Asked for in the background, at any time: not counted.
  func pushTargets(of user: Int64) async throws -> [PushTarget] {
    try await inner.pushTargets(of: user)
  }

  func keepPush(_ way: PushWay?, of phone: ActingPhone, at now: UnixTime) async throws -> Bool {
    try await call { try await $0.keepPush(way, of: phone, at: now) }
  }

  func forget(_ target: PushTarget) async throws { try await call { try await $0.forget(target) } }

  func wasSilent(_ phone: Phone, isAsking: Bool) async throws -> Bool? {
    try await call { try await $0.wasSilent(phone, isAsking: isAsking) }
  }

  func markSeen(_ phone: Phone, wasSilent: Bool, at now: UnixTime) async throws -> [Session] {
    try await call { try await $0.markSeen(phone, wasSilent: wasSilent, at: now) }
  }

  func leaveForSilence(
    since last: PresenceBySilence.Check?, at now: UnixTime, limit: Int
  ) async throws -> SilencePortion {
    try await call { try await $0.leaveForSilence(since: last, at: now, limit: limit) }
  }
}
