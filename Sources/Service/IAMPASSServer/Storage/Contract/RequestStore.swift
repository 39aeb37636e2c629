import IAMPASSProtocol

/// Who may ask the service, and that each request is taken once.
protocol RequestStore: Sendable {
  /// The application or host credential with this id; nil if there is neither.
  func signInClient(_ id: String) async throws -> SignInClient?

  /// Those of these ids that there are, in one look: for many who ask at the same time. One whose row is damaged, or whose
  /// secret cannot be opened, is a failure by itself.
  func signInClients(_ ids: [String]) async throws -> [String: Result<SignInClient, any Error>]

  /// What the application's administrator chose; the usual settings for an unknown application.
  func settings(of application: String) async throws -> ApplicationSettings

  /// Uses the nonce, and notes that its host credential was used.
  ///
  /// What was used is used for every later request, also after the service is killed. A power cut may undo it until the
  /// next change that is stored. So a replay after a power cut may be told a status again. It cannot start, answer or end
  /// anything: a request that did that has stored a change, and its nonce with it.
  ///
  /// - Parameter now: service time.
  /// - Returns: whether this used it; false if it was used before, or may have been.
  func useNonce(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool

  /// Uses the nonce of a session's request, like ``useNonce(_:at:)``, and reads what the session's client may be told. A
  /// status takes one call instead of three.
  ///
  /// - Parameters:
  ///   - session: the session's id.
  ///   - now: service time.
  /// - Returns: what was read after the nonce was used; nil if the nonce was used before, or may have been.
  func useNonce(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment?

  /// Uses the nonce like ``useNonce(_:at:)``, and reads the application or host credential that signed, in the same visit.
  ///
  /// - Parameters:
  ///   - id: the application's or host credential's.
  ///   - now: service time.
  /// - Returns: whether this used the nonce; and what was read after that, nil if there is none with this id.
  func useNonce(
    _ nonce: SignedNonce, reading id: String, at now: UnixTime
  ) async throws -> (isNew: Bool, signInClient: SignInClient?)

  /// Notes that an OpenID client, which uses no nonces, was used.
  ///
  /// - Parameters:
  ///   - credential: its id.
  ///   - now: service time.
  func noteUse(of credential: String, at now: UnixTime) async throws

  /// The storage's place in its own history. Clients see by it that the storage was put back to an earlier state.
  func mark() async throws -> ServiceMark
}

/// A session as its client may be told of it at one moment.
struct SessionMoment: Sendable {
  /// Nil if there is no such session.
  let view: SessionView?
  /// Not older than `view`.
  let mark: ServiceMark
}

extension RequestStore where Self: SessionStore {
  func useNonce(_ nonce: SignedNonce, telling session: String, at now: UnixTime) async throws -> SessionMoment? {
    guard try await useNonce(nonce, at: now) else { return nil }
    let view = try await sessionView(session)
    return SessionMoment(view: view, mark: try await mark())
  }
}
