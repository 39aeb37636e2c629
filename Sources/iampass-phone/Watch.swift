import ArgumentParser
import DeviceProtocol
import Glibc
import IAMPASSClient
import IAMPASSProtocol

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show sign-in requests as they come, and answer them.",
    discussion: "Ends with Ctrl-C. While the service is away, it goes on trying.")

  enum Answer: String, ExpressibleByArgument, CaseIterable { case approve, deny, ignore, ask }

  @OptionGroup var options: StateOption

  @Option(help: "What to answer to every request.")
  var answer: Answer

  @Option(help: ArgumentHelp("Wait before the answer.", valueName: "seconds"))
  var after: Int64 = 0

  @Flag(help: "End after the first request.")
  var once = false

  func validate() throws {
    guard (0...3_600).contains(after) else { throw ValidationError("--after takes 0 to 3600 seconds") }
  }

  func run() throws {
    let interrupt = Interrupt()
    let watcher = Watcher(
      phone: try RegisteredPhone(options, interrupt: interrupt), interrupt: interrupt, answer: answer,
      delay: after * 1_000, once: once)
    try explaining { try watcher.run() }
  }
}

/// The loop: list, show, answer.
private final class Watcher {
  /// Milliseconds between tries while the service is away.
  private static let pauses: [Int64] = [500, 1_000, 2_000, 5_000, 10_000, 30_000]

  private let phone: RegisteredPhone
  private let interrupt: Interrupt
  private let answer: Watch.Answer
  private let delay: Int64
  private let once: Bool
  private var known: [String] = []
  private var failures = 0

  init(phone: RegisteredPhone, interrupt: Interrupt, answer: Watch.Answer, delay: Int64, once: Bool) {
    self.phone = phone
    self.interrupt = interrupt
    self.answer = answer
    self.delay = delay
    self.once = once
  }

  func run() throws {
    Terminal.say(
      "waiting for sign-ins of \(DisplayText.sanitized(phone.state.user)) "
        + "(\(DisplayText.sanitized(phone.state.application)))")
    while true {
      guard let requests = try list() else { continue }
      known = known.filter { session in requests.contains { $0.session == session } }
      for request in requests where !known.contains(request.session) {
        Terminal.say(request.description(application: phone.state.application))
        // What could not be delivered is still open, and comes again with the next list.
        guard try settle(request) else { break }
        if once { return }
        known.append(request.session)
      }
    }
  }

  /// The open requests, once they differ from those already shown; nil while the service is away.
  private func list() throws -> [OpenRequest]? {
    do {
      let body = try phone.ask(.requests, DeviceRoute.requests, known: known, wait: PhoneService.holdTime)
      let requests = try RequestsReply(parsing: body).requests
      if failures > 0 { Terminal.complain("connected again") }
      failures = 0
      return requests
    } catch let error as TransportError {
      // Without its worker nothing will ever be reached.
      if error.code == .workerFailed { throw error }
      try pause("\(error.code)")
    } catch let away as ServiceAway {
      try pause("status \(away.status)")
    } catch let refusal as ServiceRefusal where refusal.reason == "NONCE_REPLAYED" {
      // The request was sent twice since its first connection broke; the next one has another nonce.
      try pause("the connection broke")
    }
    return nil
  }

  private func pause(_ why: String) throws {
    if failures == 0 { Terminal.complain("the service is away (\(why)), trying again") }
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
    failures += 1
    try sleep(pause)
  }

  /// Whether there is nothing more to do about the request.
  private func settle(_ request: OpenRequest) throws -> Bool {
    guard let decision = try decision(for: request) else { return true }
    do {
      try phone.send(decision, to: request)
      Terminal.say(Self.report(of: decision))
    } catch let refusal as ServiceRefusal where refusal.reason == "ALREADY_ANSWERED" {
      Terminal.say("the request was answered before")
    } catch let refusal as ServiceRefusal where Self.overReasons.contains(refusal.reason) {
      Terminal.say("too late: the request is over")
    } catch let error as TransportError where error.code != .workerFailed {
      try pause("\(error.code)")
      return false
    } catch let away as ServiceAway {
      try pause("status \(away.status)")
      return false
    }
    return true
  }

  private static func report(of decision: DeviceAnswer) -> String {
    switch decision {
    case .approve: "approved"
    case .deny: "denied"
    case .notMe: "denied, and its source is blocked for 15 min"
    case .unable: "not possible: the request wants an unlocked phone, which this command cannot prove"
    }
  }

  private static let overReasons = ["TOO_LATE", "UNKNOWN_REQUEST"]

  private func decision(for request: OpenRequest) throws -> DeviceAnswer? {
    if answer != .ignore { try sleep(delay) }
    // Nobody is unlocked here: said at once, so that who asked need not wait.
    guard request.method == .acceptance || answer == .ignore || answer == .deny else { return .unable }
    switch answer {
    case .approve: return .approve
    case .deny: return .deny
    case .ignore:
      Terminal.say("ignored")
      return nil
    case .ask: return try askUser(within: request.secondsLeft * 1_000)
    }
  }

  /// Nil where the request ran out first, or there is nobody to ask.
  private func askUser(within milliseconds: Int64) throws -> DeviceAnswer? {
    let end = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    // What was typed before the question is no answer to it.
    tcflush(STDIN_FILENO, TCIFLUSH)
    while true {
      Terminal.ask("approve? [y/n] ")
      switch interrupt.wait(milliseconds: max(0, end.milliseconds(since: .now())), input: STDIN_FILENO) {
      case .interrupted: throw leave()
      case .timeOver:
        Terminal.say("\ntoo late: the request is over")
        return nil
      case .input:
        guard let line = readLine() else {
          Terminal.say("\nnobody there to ask: ignored")
          return nil
        }
        switch line.lowercased() {
        case "y", "yes": return .approve
        case "n", "no": return .deny
        default: continue
        }
      }
    }
  }

  private func sleep(_ milliseconds: Int64) throws {
    if interrupt.wait(milliseconds: milliseconds) == .interrupted { throw leave() }
  }

  private func leave() -> ExitCode { ExitCode(Interrupt.exitCode) }
}
