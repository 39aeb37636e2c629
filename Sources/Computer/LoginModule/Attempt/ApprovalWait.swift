import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// ④ Asks `status_url` until the phone has answered or the time is up.
struct ApprovalWait {
  /// Longest time that one reply is held, in seconds (`Prefer: wait`).
  static let longestHold: Int64 = 20
  /// What a held reply may be late, in milliseconds, before the connection counts as dead.
  static let holdSlack: Int64 = 5_000
  /// Steps between polls, in milliseconds, while nobody touched the phone; the last one repeats.
  static let pollSteps: [Int64] = [500, 750, 1_000, 1_500, 2_000]
  /// While the user is at the phone.
  static let identifyingStep: Int64 = 250
  /// A service that says that it holds its replies and does not is asked this often at most, in milliseconds.
  static let shortestHold: Int64 = 2_000
  /// Changes that may come one right after the other.
  static let greatestQuickCount = 3
  /// With less time left a worker could not report by itself, in milliseconds.
  static let leastRemaining: Int64 = 100
  /// After a fault: at most a request a second, apart from other hosts'.
  static let faultStep: Int64 = 1_000
  static let faultSpread: Int64 = 500

  let service: any AuthenticationService
  let conversation: any Conversation
  let clock: any LoginClock
  let deadline: MonotonicInstant

  func approval(of pending: PendingSession) throws(Refusal) -> ActiveSession {
    var polls = 0
    var faults = 0
    var quickCount = 0
    var shown = SessionStatus.pending
    while true {
      let asked = clock.now()
      let remaining = deadline.milliseconds(since: asked)
      guard remaining > Self.leastRemaining else { throw .notAnswered }
      let pause: Int64
      switch try ask(pending, remaining: remaining) {
      case .approved(let session):
        guard clock.now() <= deadline else { throw .notAnswered }
        return session
      case .ended(let status, let reason): throw Refusal(endedBy: status, reason: reason)
      case .waiting(let status, let held):
        faults = 0
        let took = clock.now().milliseconds(since: asked)
        let isQuick = status != shown && quickCount < Self.greatestQuickCount
        if isQuick { quickCount += 1 }
        try show(status, after: &shown, code: pending.matchCode)
        let heldPause = isQuick ? 0 : max(0, Self.shortestHold - took)
        pause = held ? heldPause : Self.step(status, polls)
        polls += 1
      case nil:
        // In the last moments the wait is over before the server could be back.
        if faults == 0, remaining > Self.faultStep { try say(Self.waiting(code: pending.matchCode)) }
        faults += 1
        pause = Self.faultStep + Int64.random(in: 0...Self.faultSpread)
      }
      let left = max(0, deadline.milliseconds(since: clock.now()))
      if clock.pause(milliseconds: min(pause, left)) { throw .interrupted }
    }
  }

  /// The service's answer; nil for a fault that may pass.
  private func ask(_ pending: PendingSession, remaining: Int64) throws(Refusal) -> ApprovalAnswer? {
    // A hold that reaches the deadline would end as a silent server: it stops a second earlier.
    let hold = min(Self.longestHold, remaining / 1_000 - 1)
    let patience = max(hold, 0) * 1_000 + Self.holdSlack
    do {
      return try service.approval(
        of: pending, waitSeconds: hold > 0 ? hold : nil,
        deadline: clock.now().advanced(milliseconds: min(remaining, patience)))
    } catch {
      // The time ran out while the service was asked: the phone was not answered, whatever became of this poll.
      if error.isPassing {
        if clock.now() >= deadline { throw .notAnswered }
        return nil
      }
      throw Refusal(error)
    }
  }

  private func show(
    _ status: SessionStatus, after shown: inout SessionStatus, code: String?
  ) throws(Refusal) {
    guard status != shown else { return }
    shown = status
    if status == .identifying { try say("Your phone has the request: \(code.map { "code \($0)" } ?? "answer there")") }
  }

  // GNOME's greeter shows the last line alone: one without the code would take it away from the user.
  private static func waiting(code: String?) -> String {
    "waiting for the server…\(code.map { " (code \($0))" } ?? "")"
  }

  private func say(_ text: String) throws(Refusal) {
    do { try conversation.say(text) } catch { throw .abandoned }
  }

  private static func step(_ status: SessionStatus, _ polls: Int) -> Int64 {
    status == .identifying ? identifyingStep : pollSteps[min(polls, pollSteps.count - 1)]
  }
}
