import IAMPASSClient

/// Ends that wait to be judged together, and the questions about other sessions that are asked for the verdict.
///
/// Times are milliseconds after boot.
struct VerdictGathering {
  /// How long ends wait for each other: enough for answers about other sessions, and too short for users to notice.
  private static let gathering: Int64 = 100
  /// The longest wait for answers about other sessions.
  private static let longest: Int64 = 15_000

  /// When the ends are judged.
  private(set) var due: Int64
  let began: Int64
  /// The questions about other sessions that are not answered yet.
  var probes: Set<SessionService.Ticket> = []
  /// After a sleep the service is asked about every session, and each answer is awaited. Probes would not do: the first
  /// questions often fail, because the network is not there yet.
  let awaitsAll: Bool

  init(at now: Int64, awaitsAll: Bool = false) {
    began = now
    due = now + Self.gathering
    self.awaitsAll = awaitsAll
  }

  /// Whether to wait for more answers. Over a slow network they take longer than ends wait for each other.
  ///
  /// - Parameter isUnheard: answers are still to come besides those to the probes.
  func waits(_ verdict: MassEndVerdict, isUnheard: Bool, _ now: Int64) -> Bool {
    (!probes.isEmpty || isUnheard) && !verdict.isClear && now - began < Self.longest
  }

  mutating func waitOn(_ now: Int64) { due = now + Self.gathering / 2 }
}
