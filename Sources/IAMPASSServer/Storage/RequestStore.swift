import IAMPASSProtocol

/// Who may ask the service, and that each request is taken once.
protocol RequestStore: Sendable {
  /// The application or host credential with this id; nil if there is neither.
  func starter(_ id: String) async throws -> Starter?

  /// What the application's administrator chose; the usual settings for an unknown application.
  func settings(of application: String) async throws -> ApplicationSettings

  /// Spends the nonce, and notes that its host credential was used.
  ///
  /// What was spent is spent for every later request, also after the service is killed. A power cut may undo it until
  /// the next change that is stored: nothing was said before that.
  ///
  /// - Parameter now: service time.
  /// - Returns: whether this spent it; false if it was spent before, or may have been.
  func spend(_ nonce: SignedNonce, at now: UnixTime) async throws -> Bool

  /// The storage's place in its own history. Clients see by it that the storage was put back to an earlier state.
  func mark() async throws -> ServiceMark
}

/// The nonce of a request whose signature was checked.
struct SignedNonce: Sendable {
  /// Whose signature it was; nonces of different owners do not meet.
  let owner: String
  let value: String
  /// When the request's time stamp alone refuses it; by the wall clock.
  let forgetAt: UnixTime
  /// The host credential that signed; nil for other clients.
  var credential: String?
}
