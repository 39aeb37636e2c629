import DeviceProtocol
import IAMPASSProtocol

/// The service sessions: starting, answering and changing them.
///
/// The caller's rules decide about a session: ``StartPolicy``, ``SignedAnswer`` and ``SessionLifecycle``. An engine
/// reads the data for a rule, calls it, and stores its result, all in one step.
protocol SessionStore: Sendable {
  /// The session with this id, as last stored; nil if there is none.
  func session(_ id: String) async throws -> Session?

  /// The keys that sign this session's requests; nil if there is no such session.
  ///
  /// An engine may answer from its memory, even after the session was deleted, because the keys never change.
  func keys(ofSession id: String) async throws -> SessionKeys?

  /// The same only from memory; nil if they are not there.
  func knownKeys(ofSession id: String) -> SessionKeys?

  /// The session with the data that its computer verifies.
  func sessionView(_ id: String) async throws -> SessionView?

  /// The same for several sessions, from one consistent view. One that cannot be read fails alone.
  ///
  /// - Parameter ids: each once.
  /// - Returns: those that there are.
  func sessionViews(_ ids: [String]) async throws -> [String: Result<SessionView, any Error>]

  /// Starts a session, or counts a request that an open one blocks, as `decide` says.
  ///
  /// If `ask` has a signed boot and a usable host credential, it first ends the sessions that the computer opened
  /// before its restart. Those sessions must not block this request. It also ends the user's requests that cannot be read:
  /// nobody can answer them.
  ///
  /// - Parameter decide: is called after the boot was noted. An error undoes that too.
  func start(
    _ request: SessionStartRequest, at now: UnixTime,
    deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
  ) async throws -> SessionStart

  /// Notes that a code of the application's user was used. A repeated report changes nothing.
  func record(_ use: CodeUse, of name: String, by signInClient: SignInClient, at now: UnixTime) async throws
    -> CodeUseOutcome

  /// Stores a phone's answer: the changed session, the answer, the authenticator's counter and the blocked source.
  /// Answers come one after the other, and `decide` sees the effect of earlier ones.
  ///
  /// - Parameters:
  ///   - id: the session's id.
  ///   - decide: gets the session; nil unless it is the phone's user's.
  func answer(
    _ id: String, by phone: ActingPhone, at now: UnixTime,
    deciding decide: @escaping @Sendable (PhoneFacts, Session?) throws -> Result<TakenAnswer, Refusal>
  ) async throws -> Result<Session, Refusal>

  /// Changes one session by `step`, and stores it if `step` returns true.
  ///
  /// - Returns: the session after the step, and whether it was changed; nil if there is no session.
  func changeSession(
    _ id: String, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)?

  /// The same for a session that was read before. `step` may run twice: an engine may begin with the session as it was read,
  /// and then stores the change only if the session has not changed since.
  func changeSession(
    _ known: SessionView, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)?

  /// Ends expired sessions in one step, the longest overdue first.
  ///
  /// The time for which others wait depends only on `limit`, and not on the number of live sessions.
  ///
  /// - Parameters:
  ///   - place: where the last portion ended; nil: begin with the first.
  ///   - limit: the most sessions that are read.
  func endOverdue(at now: UnixTime, after place: OverdueCursor?, limit: Int) async throws -> OverduePortion
}

/// A session's place among overdue ones, which are ordered by deadline, then by start.
struct OverdueCursor: Sendable, Equatable {
  /// The deadline in milliseconds, as stored.
  let deadline: Int64
  let number: Int64
}

/// A portion of the expired sessions.
struct OverduePortion: Sendable {
  /// The sessions that this ended.
  var ended: [Session] = []
  /// The ids of sessions that cannot be read, because they are damaged or have a word of a newer version. They do not
  /// change.
  var unreadable: [String] = []
  /// Where the next portion begins; nil if there is none.
  var next: OverdueCursor?
}

/// A session as it is sent to its client, from one consistent view. It is a class because it has dozens of fields,
/// which each function would otherwise copy, and keep while it waits.
final class SessionView: Sendable {
  let session: Session
  /// The kept answer, which the computer verifies; nil unless ``Session/showsApproval``.
  let approval: JSON?
  /// The user's id at the application; nil unless ``Session/showsToken``, and if the user was removed.
  let userID: String?

  init(session: Session, approval: JSON?, userID: String?) {
    self.session = session
    self.approval = approval
    self.userID = userID
  }
}

/// The rules' result for a phone's answer, to be stored.
struct TakenAnswer: Sendable {
  /// The session with the answer.
  let session: Session
  /// The authenticator's state, if it was asked.
  let authenticator: AuthenticatorState?
  let kept: KeptAnswer

  /// Whether the user has reported the request as somebody else's. A locum cannot report another user's source.
  var blocksSource: Bool {
    session.lifecycle.ending == .notMe && (session.locum == nil || session.locum?.phone != session.answeredBy)
  }
}

extension Session {
  /// Ends the session for its client. False if it had ended before.
  mutating func logOut(at now: UnixTime) -> Bool {
    guard lifecycle.endedAt == nil else { return false }
    lifecycle.close(.loggedOut, at: now)
    return true
  }

  func isOverdue(at now: UnixTime) -> Bool { lifecycle.deadline.map { now >= $0 } ?? false }

  /// Ends the session if it has expired. False if it has not.
  mutating func end(ifOverdueAt now: UnixTime) -> Bool {
    guard isOverdue(at: now) else { return false }
    lifecycle.settle(at: now)
    return true
  }
}

extension SessionStore {
  func keys(ofSession id: String) async throws -> SessionKeys? { try await session(id).map(SessionKeys.init) }

  func knownKeys(ofSession id: String) -> SessionKeys? { nil }

  func changeSession(
    _ known: SessionView, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)? {
    try await changeSession(known.session.id, by: step)
  }

  /// Ends the session for its client. Nil if it had ended before, or there is none.
  func logOut(_ id: String, at now: UnixTime) async throws -> Session? {
    let change = try await changeSession(id) { $0.logOut(at: now) }
    return change.flatMap { $0.isChanged ? $0.view.session : nil }
  }

  /// The session for its client. The storage notes that the client got it. Nil if there is none.
  func collect(_ known: SessionView, at now: UnixTime) async throws -> SessionView? {
    try await changeSession(known) { session in
      let before = session.lifecycle
      session.lifecycle.collect(at: now)
      guard session.lifecycle != before || session.isNews else { return false }
      session.markDelivered(at: now)
      return true
    }?.view
  }

  /// Notes that a phone shows this request. False if one has shown it before.
  ///
  /// - Parameter known: the request as it was read before.
  func see(_ known: Session, at now: UnixTime) async throws -> Bool {
    // A request that waits for its answer has neither an approval nor a token.
    let change = try await changeSession(SessionView(session: known, approval: nil, userID: nil)) { session in
      guard session.lifecycle.status == .pending else { return false }
      session.lifecycle.seen(at: now)
      return true
    }
    return change?.isChanged ?? false
  }

  /// Ends this one session if it has expired. Nil if there is none.
  func end(_ id: String, ifOverdueAt now: UnixTime) async throws -> (view: SessionView, isChanged: Bool)? {
    // The session expires by itself, so the actor is the service.
    try await AuditActor.$current.withValue(.service) { try await changeSession(id) { $0.end(ifOverdueAt: now) } }
  }
}
