import DeviceProtocol
import IAMPASSProtocol

/// The sign-in sessions: started, answered, changed.
///
/// What becomes of a session is decided by the rules that the caller passes: ``StartPolicy``, ``SignedAnswer`` and
/// ``SessionLifecycle``. An engine reads what a rule needs, asks the rule, and stores what it says, all in one step.
protocol SessionStore: Sendable {
  /// The session with this id, as last stored; nil if there is none.
  func session(_ id: String) async throws -> Session?

  /// What this session's requests are signed with; nil if there is no such session.
  ///
  /// An engine may answer from its memory, even after the session was forgotten: nothing of it ever changes.
  func keys(ofSession id: String) async throws -> SessionKeys?

  /// The same from memory alone; nil if they are not there.
  func knownKeys(ofSession id: String) -> SessionKeys?

  /// The session with what its computer verifies.
  func toldSession(_ id: String) async throws -> ToldSession?

  /// Starts a session, or counts a request that an open one holds back, as `decide` says.
  ///
  /// Before that it ends what the computer opened before its restart, if `ask` has a signed boot and a usable host
  /// credential: those sessions must not stand in the way of this request.
  ///
  /// - Parameter decide: asked after the boot was noted. What it throws undoes that, too.
  func start(
    _ ask: StartAsk, at now: UnixTime,
    deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
  ) async throws -> SessionStart

  /// Notes that a code of the application's user has served. Reported again, a use changes nothing.
  func note(_ use: CodeUse, of name: String, by starter: Starter, at now: UnixTime) async throws -> NotedUse

  /// Stores a phone's answer: the session as it then is, the answer, the authenticator's count and the blocked source.
  /// Two answers come one after the other, and `decide` sees what the first one did.
  ///
  /// - Parameters:
  ///   - id: the session's.
  ///   - decide: given the session; nil unless the phone's user has it.
  func answer(
    _ id: String, by phone: ActingPhone, at now: UnixTime,
    deciding decide: @escaping @Sendable (PhoneFacts, Session?) throws -> Result<TakenAnswer, Refusal>
  ) async throws -> Result<Session, Refusal>

  /// Has `step` change one session, and stores that if it says that it did.
  ///
  /// - Returns: the session after the step, and whether it was changed; nil if there is none.
  func changeSession(
    _ id: String, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (told: ToldSession, isChanged: Bool)?

  /// Has `step` change each of the user's sessions that had not ended when last stored, and stores those for which it says
  /// that it did: all, or none.
  ///
  /// - Returns: those that were changed.
  func changeUnended(
    of user: Int64, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> [Session]

  /// Ends sessions whose time has come, in one step, the longest overdue first.
  ///
  /// What others wait meanwhile grows with `limit` alone, and not with the number of sessions that live.
  ///
  /// - Parameters:
  ///   - place: where the portion before this one ended; nil: from the first.
  ///   - limit: how many sessions are looked at, at most.
  func endOverdue(at now: UnixTime, after place: OverduePlace?, limit: Int) async throws -> OverduePortion
}

/// A session's place among those that are overdue: by their deadlines, then in the order of their starts.
struct OverduePlace: Sendable, Equatable {
  /// In milliseconds, as stored.
  let deadline: Int64
  let number: Int64
}

/// Some of the sessions whose time has come.
struct OverduePortion: Sendable {
  /// Those that this ended.
  var ended: [Session] = []
  /// The ids of those that cannot be read: damaged, or with a word of a newer version. They stay as they are.
  var unreadable: [String] = []
  /// Where the next portion begins; nil: there is none.
  var next: OverduePlace?
}

/// A session as its client is told of it, in one consistent view. A class, since it has dozens of fields:
/// each function on a request's way would copy them, and keep the copies while it waits.
final class ToldSession: Sendable {
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

/// What the rules make of a phone's answer, to be stored.
struct TakenAnswer: Sendable {
  /// With the answer.
  let session: Session
  /// The authenticator's new count, if it was asked.
  let counter: UInt32?
  let kept: KeptAnswer

  /// The user said that the request was somebody else's.
  /// A locum cannot say it of another user's source.
  var blocksSource: Bool {
    session.lifecycle.ending == .notMe && (session.locum == nil || session.locum?.phone != session.answeredBy)
  }
}

extension Session {
  /// Its client ended it. False if it had ended before.
  mutating func logOut(at now: UnixTime) -> Bool {
    guard lifecycle.endedAt == nil else { return false }
    lifecycle.close(.loggedOut, at: now)
    return true
  }

  func isOverdue(at now: UnixTime) -> Bool { lifecycle.deadline.map { now >= $0 } ?? false }

  /// Ends the session if its time has come. False if it has not.
  mutating func end(ifOverdueAt now: UnixTime) -> Bool {
    guard isOverdue(at: now) else { return false }
    lifecycle.settle(at: now)
    return true
  }
}

extension SessionStore {
  func keys(ofSession id: String) async throws -> SessionKeys? { try await session(id).map(SessionKeys.init) }

  func knownKeys(ofSession id: String) -> SessionKeys? { nil }

  /// Ends the session for its client. Nil if it had ended before, or there is none.
  func logOut(_ id: String, at now: UnixTime) async throws -> Session? {
    let change = try await changeSession(id) { $0.logOut(at: now) }
    return change.flatMap { $0.isChanged ? $0.told.session : nil }
  }

  /// The session as its client is told now; the storage remembers that it was told. Nil if there is none.
  func collect(_ id: String, at now: UnixTime) async throws -> ToldSession? {
    try await changeSession(id) { session in
      let before = session.lifecycle
      session.lifecycle.collect(at: now)
      guard session.lifecycle != before || session.isNews else { return false }
      session.markDelivered(at: now)
      return true
    }?.told
  }

  /// Those of these requests that the user's phone is shown for the first time.
  func see(_ ids: Set<String>, of user: Int64, at now: UnixTime) async throws -> [Session] {
    try await changeUnended(of: user) { session in
      guard ids.contains(session.id), session.lifecycle.status == .pending else { return false }
      session.lifecycle.seen(at: now)
      return true
    }
  }

  /// Ends one session if its time has come, and no other. Nil if there is none.
  func end(_ id: String, ifOverdueAt now: UnixTime) async throws -> (told: ToldSession, isChanged: Bool)? {
    // Time ends it, whoever looks.
    try await AuditActor.$current.withValue(.service) { try await changeSession(id) { $0.end(ifOverdueAt: now) } }
  }
}
