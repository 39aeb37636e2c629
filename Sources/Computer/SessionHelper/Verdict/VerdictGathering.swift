import IAMPASSClient

/// Ends that wait to be judged together, and the questions about others that are asked for it.
///
/// Times are milliseconds after boot.
struct VerdictGathering {
  /// How long ends wait for each other: long enough for the others' answers, too short to be noticed.
  private static let gathering: Int64 = 100
  /// How long the answers about others are waited for at most.
  private static let longest: Int64 = 15_000

  /// When the ends are judged.
  private(set) var due: Int64
  let began: Int64
  /// The questions about others that are not answered yet.
  var probes: Set<SessionService.Ticket> = []

  init(at now: Int64) {
    began = now
    due = now + Self.gathering
  }

  /// Whether answers are still to be waited for. Over a slow network they take longer than the ends are gathered.
  func waits(_ verdict: MassEndVerdict, _ now: Int64) -> Bool {
    !probes.isEmpty && !verdict.isClear && now - began < Self.longest
  }

  mutating func waitOn(_ now: Int64) { due = now + Self.gathering / 2 }
}
