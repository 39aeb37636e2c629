import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// ④ Asks `status_url` until the phone has answered or the time is up.
struct ApprovalWait {
  /// The longest time that one reply is held, in seconds (`Prefer: wait`).
  static let longestHold: Int64 = 20
  /// How late a held reply may be before the connection counts as dead, in milliseconds.
  static let holdSlack: Int64 = 5_000
  /// The pauses between polls until the user opens the request on the phone, in milliseconds. The last one repeats.
  static let pollSteps: [Int64] = [500, 750, 1_000, 1_500, 2_000]
  /// The pause between polls once the user has opened the request, in milliseconds.
  static let identifyingStep: Int64 = 250
  /// The least time between two questions to a service that claims to hold its replies but does not, in milliseconds.
  static let shortestHold: Int64 = 2_000
  /// The most changes that may come immediately one after the other.
  static let greatestQuickCount = 3
  /// The least time that a worker needs to report by itself, in milliseconds.
  static let leastRemaining: Int64 = 100
  /// The pause after a failure, in milliseconds: at most one request a second.
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
        // Shortly before the end, the service could not answer again in time.
        if faults == 0, remaining > Self.faultStep { try say(Self.waiting(code: pending.matchCode)) }
        faults += 1
        pause = Self.faultStep + Int64.random(in: 0...Self.faultSpread)
      }
      let left = max(0, deadline.milliseconds(since: clock.now()))
      if clock.pause(milliseconds: min(pause, left)) { throw .interrupted }
    }
  }

  /// The service's answer; nil after a failure that may pass.
  private func ask(_ pending: PendingSession, remaining: Int64) throws(Refusal) -> ApprovalAnswer? {
    // The hold ends a second before the deadline. Otherwise the service would seem silent.
    let hold = min(Self.longestHold, remaining / 1_000 - 1)
    let patience = max(hold, 0) * 1_000 + Self.holdSlack
    do {
      return try service.approval(
        of: pending, waitSeconds: hold > 0 ? hold : nil,
        deadline: clock.now().advanced(milliseconds: min(remaining, patience)))
    } catch {
      // The time ran out while the service was asked: the phone has not answered, whatever became of this question.
      if error.isOvertaken(left: deadline.milliseconds(since: clock.now())) { throw .notAnswered }
      guard error.isPassing else { throw Refusal(error) }
      return nil
    }
  }

  private func show(
    _ status: SessionStatus, after shown: inout SessionStatus, code: String?
  ) throws(Refusal) {
    guard status != shown else { return }
    shown = status
    if status == .identifying { try say("Your phone has the request: \(code.map { "code \($0)" } ?? "answer there")") }
  }

  // GNOME's greeter shows only the last line, so each line must have the code.
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

extension ServiceError {
  /// Whether a question about the phone's answer failed because the wait for it was over. An answer of the service, and
  /// the user's interruption, keep their meaning.
  ///
  /// - Parameter left: milliseconds until the end of the wait.
  func isOvertaken(left: Int64) -> Bool {
    guard left <= ApprovalWait.leastRemaining else { return false }
    guard case .transport(let error) = self, error.code != .interrupted else { return isPassing }
    // On a busy machine a worker's report comes late. Its silence, or its end, does not show now that it is broken.
    if left <= 0 { return true }
    // The worker may not even have begun, and says so before the end, by what it needs to report.
    return isPassing || error.code == .workerFailed
  }
}
