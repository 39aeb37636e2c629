import IAMPASSProtocol

/// How computers join: codes, and who asked by one.
public protocol JoinStore: Sendable {
  /// A new code for an application's computers. Throws ``JoinOrderRefusal``.
  func createJoinCode(_ order: JoinOrder, at now: UnixTime) async throws -> StoredJoinCode

  /// All codes with who asked by them, the newest first; with times for people. It is for commands: pages show some.
  func joinCodes() async throws -> [ListedJoinCode]

  /// Nobody joins by the code from now on, and who waits is refused.
  ///
  /// - Returns: false for an unknown code.
  func revokeJoinCode(_ id: String, at now: UnixTime) async throws -> Bool

  /// Lets a waiting computer join, or refuses it.
  ///
  /// - Parameter id: the join's, or its name if only one of that name waits.
  func decideJoin(_ id: String, isApproved: Bool, at now: UnixTime) async throws -> JoinDecision
}

/// The service's own part of it.
protocol JoiningStore: JoinStore {
  /// A computer asks by a code, for the first time or again.
  func join(_ received: ReceivedJoinRequest, at now: UnixTime) async throws -> JoinVerdict

  /// A computer that waits, with what administrators' phones were asked; nil if it does not wait any more.
  func waitingJoin(_ id: String) async throws -> WaitingJoin?

  /// A page of the codes, the newest first; with times for people.
  ///
  /// - Parameter id: the page begins after this code; empty: with the newest.
  func joinCodes(after id: String) async throws -> JoinCodePage

  /// A page of the computers that wait, the one that asked first at its top; with times for people.
  ///
  /// - Parameter id: the page begins after this computer; empty: with the first.
  func waitingJoins(after id: String) async throws -> JoiningPage

  /// A code with a page of the computers that asked by it, the first at its top; with times for people. Nil for an unknown
  /// code.
  ///
  /// - Parameter joining: the page begins after this computer; empty: with the first.
  func joinCode(_ id: String, after joining: String) async throws -> JoinCodeOverview?

  /// Notes that this request on a phone is about that computer.
  ///
  /// - Returns: false if that was noted before.
  func noteJoinAsk(_ session: String, about joining: String) async throws -> Bool
}
