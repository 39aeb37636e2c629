import ArgumentParser
import CommandSupport
import DeviceProtocol
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The loop: list, show, answer.
final class Watcher {
  /// Milliseconds between attempts while the service is unavailable.
  private static let pauses: [Int64] = [500, 1_000, 2_000, 5_000, 10_000, 30_000]
  /// Milliseconds between signs of life while a request is being answered. After 150 s of silence the service may
  /// decide that the phone has left. Three signs of life fit into that time, even if each fails slowly.
  private static let beat: Int64 = 40_000

  private let phone: RegisteredPhone
  private let interrupt: Interrupt
  private let questions = Questions()
  private let answer: Watch.Answer
  /// For one request only.
  private var code: MatchCode?
  private let delay: Int64
  private let once: Bool
  private var known: [String] = []
  private var failures = 0
  private var nextBeat = MonotonicInstant.now()

  init(
    phone: RegisteredPhone, interrupt: Interrupt, answer: Watch.Answer, code: MatchCode?, delay: Int64, once: Bool
  ) {
    self.phone = phone
    self.interrupt = interrupt
    self.answer = answer
    self.code = code
    self.delay = delay
    self.once = once
  }

  func run() throws {
    PhoneTerminal.say(
      "waiting for sign-ins of \(DisplayText.sanitized(phone.state.user)) "
        + "(\(DisplayText.sanitized(phone.state.application)))")
    while true {
      guard let requests = try list() else { continue }
      if let code, answer == .approve, !requests.isEmpty {
        if try approveTheOne(of: requests, code) { return }
        continue
      }
      known = known.filter { session in requests.contains { $0.session == session } }
      for request in requests where !known.contains(request.session) {
        PhoneTerminal.say(request.description(application: phone.state.application))
        // An answer that was not delivered leaves the request open. The next list contains it again.
        guard try settle(request) != .stillOpen else { break }
        if once { return }
        known.append(request.session)
      }
    }
  }

  /// Approves the request with the code. A request without a code stays open, since it cannot be the right one. The
  /// service denies each request that is tried and has another code.
  ///
  /// - Returns: whether this is done; false if the service is unavailable.
  /// - Throws: if none of the requests has the code. The reader of the code cannot have seen later requests.
  private func approveTheOne(of requests: [OpenRequest], _ code: MatchCode) throws -> Bool {
    // The newest comes first: someone has just started it, and older requests need not be denied for it.
    for request in requests.reversed() where request.asksCode && request.method == .acceptance {
      PhoneTerminal.say(request.description(application: phone.state.application))
      switch try settle(request) {
      case .over: return true
      case .hasAnotherCode: continue
      case .stillOpen: return false
      }
    }
    throw CommandProblem.noRequestWithCode
  }

  /// The open requests, once they differ from those already shown; nil while the service is unavailable.
  private func list() throws -> [OpenRequest]? {
    do {
      nextBeat = .now().advanced(milliseconds: Self.beat)
      let body = try phone.ask(.requests, DeviceRoute.requests, known: known, wait: PhoneService.holdTime)
      let requests = try RequestsReply(parsing: body).requests
      if failures > 0 { PhoneTerminal.complain("connected again") }
      failures = 0
      return requests
    } catch let error as TransportError {
      // Without its worker this program can never connect.
      if error.code == .workerFailed { throw error }
      try pause("\(error.code)")
    } catch let away as ServiceAway {
      try pause("status \(away.status)")
    } catch let refusal as ServiceRefusal where refusal.reason == "NONCE_REPLAYED" {
      // The request was sent twice, since its first connection broke. The next request has another nonce.
      try pause("the connection broke")
    }
    return nil
  }

  private func pause(_ why: String) throws {
    if failures == 0 { PhoneTerminal.complain("the service is unavailable (\(why)), trying again") }
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
    failures += 1
    try sleep(pause)
  }

  private enum Settlement { case over, hasAnotherCode, stillOpen }

  /// Answers the request if possible.
  private func settle(_ request: OpenRequest) throws -> Settlement {
    guard let decision = try decision(for: request) else { return .over }
    do {
      try phone.send(decision.answer, to: request, code: decision.code)
      PhoneTerminal.say(Self.report(of: decision.answer))
    } catch let refusal as ServiceRefusal where refusal.reason == "WRONG_CODE" {
      PhoneTerminal.say("denied: the terminal shows another code")
      return .hasAnotherCode
    } catch let refusal as ServiceRefusal where refusal.reason == "ALREADY_ANSWERED" {
      PhoneTerminal.say("the request has already been answered")
    } catch let refusal as ServiceRefusal where Self.overReasons.contains(refusal.reason) {
      PhoneTerminal.say("too late: the request has ended")
    } catch let error as TransportError where error.code != .workerFailed {
      try pause("\(error.code)")
      return .stillOpen
    } catch let away as ServiceAway {
      try pause("status \(away.status)")
      return .stillOpen
    }
    return .over
  }

  private static func report(of decision: DeviceAnswer) -> String {
    switch decision {
    case .approve: "approved"
    case .deny: "denied"
    case .notMe: "denied, and its source is blocked for 15 min"
    case .unable: "not possible: the request requires an unlocked phone, and this command cannot prove that"
    }
  }

  private static let overReasons = ["TOO_LATE", "UNKNOWN_REQUEST"]

  /// What to send for a request.
  private struct Decision {
    let answer: DeviceAnswer
    var code: MatchCode?
  }

  /// Nil if nothing is to be sent.
  private func decision(for request: OpenRequest) throws -> Decision? {
    if answer != .ignore, try wait(until: .now().advanced(milliseconds: delay)) == .interrupted { throw leave() }
    // This command has no screen lock. It says so at once, so that the sign-in does not wait.
    guard request.method == .acceptance || [.deny, .notMe, .ignore].contains(answer) else {
      return Decision(answer: .unable)
    }
    let end = MonotonicInstant.now().advanced(milliseconds: request.secondsLeft * 1_000)
    switch answer {
    case .approve:
      // Earlier typing may have been meant for the previous request.
      questions.forgetWhatWasTyped()
      return try approval(of: request, until: end)
    case .deny: return Decision(answer: .deny)
    case .notMe: return Decision(answer: .notMe)
    case .ignore:
      PhoneTerminal.say("ignored")
      return nil
    case .ask:
      questions.forgetWhatWasTyped()
      guard let isApproved = try askWhetherToApprove(until: end) else { return nil }
      return isApproved ? try approval(of: request, until: end) : Decision(answer: .deny)
    }
  }

  /// Nil if the request ran out first, or if standard input has ended.
  private func askWhetherToApprove(until end: MonotonicInstant) throws -> Bool? {
    while let line = try ask("approve? [y/n] ", until: end) {
      switch line.lowercased() {
      case "y", "yes": return true
      case "n", "no": return false
      default: continue
      }
    }
    return nil
  }

  /// An approval, with the code if the request requires it.
  private func approval(of request: OpenRequest, until end: MonotonicInstant) throws -> Decision? {
    guard request.asksCode else { return Decision(answer: .approve) }
    if let code {
      // With `ask` the code belongs to the request that the user just approved, and to no other.
      if answer == .ask { self.code = nil }
      return Decision(answer: .approve, code: code)
    }
    while let line = try ask("code on the terminal: ", until: end) {
      if let typed = MatchCode(line) { return Decision(answer: .approve, code: typed) }
      PhoneTerminal.say("the code has two digits")
    }
    return nil
  }

  /// Nil if the request ran out first, or if standard input has ended.
  private func ask(_ question: String, until end: MonotonicInstant) throws -> String? {
    switch try questions.ask(question, wait: { try wait(until: end, input: STDIN_FILENO) }) {
    case .line(let line): return line
    case .interrupted: throw leave()
    case .timeOver:
      PhoneTerminal.say("\ntoo late: the request has ended")
      return nil
    case .nobody:
      PhoneTerminal.say("\nignored: standard input has ended, so that nobody can be asked")
      return nil
    }
  }

  /// Waits as ``Interrupt/wait(milliseconds:input:)`` does, and regularly shows the service that this phone is there.
  private func wait(until end: MonotonicInstant, input: Int32 = -1) throws -> Interrupt.Event {
    while true {
      let left = min(end, nextBeat).milliseconds(since: .now())
      let event = interrupt.wait(milliseconds: max(0, left), input: input)
      guard event == .timeOver, MonotonicInstant.now() < end else { return event }
      nextBeat = .now().advanced(milliseconds: Self.beat)
      try sayThatItIsThere()
    }
  }

  /// Asks for the status, since listed requests would count as seen. The next list reports any failure.
  private func sayThatItIsThere() throws {
    do {
      _ = try phone.ask(.status, DeviceRoute.status)
    } catch let code as ExitCode {
      throw code
    } catch {}
  }

  private func sleep(_ milliseconds: Int64) throws {
    if interrupt.wait(milliseconds: milliseconds) == .interrupted { throw leave() }
  }

  private func leave() -> ExitCode { ExitCode(Interrupt.exitCode) }
}
