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

  init(at now: Int64) {
    began = now
    due = now + Self.gathering
  }

  /// Whether to wait for more answers. Over a slow network they take longer than ends wait for each other.
  func waits(_ verdict: MassEndVerdict, _ now: Int64) -> Bool {
    !probes.isEmpty && !verdict.isClear && now - began < Self.longest
  }

  mutating func waitOn(_ now: Int64) { due = now + Self.gathering / 2 }
}
