import ArgumentParser
import CommandSupport
import DeviceProtocol
import Glibc
import HostSystem
import IAMPASSPhone
import IAMPASSProtocol

/// The user of this phone: the options of `watch`, and the terminal.
final class Watcher: PhoneUser {
  /// Milliseconds between signs of life while a request is being answered. After 150 s of silence the service may
  /// decide that the phone has left. Three signs of life fit into that time, even if each fails slowly.
  private static let beat: Int64 = 40_000

  private let phone: RegisteredPhone
  private let state: StateFile
  private let interrupt: Interrupt
  private let questions = Questions()
  private let answer: Watch.Answer
  /// The code of `--code`, for one request only.
  private var code: MatchCode?
  private let delay: Int64
  private let once: Bool
  /// Whether `approve` also signs documents. By default it leaves documents to a person who reads them.
  private let signsDocuments: Bool
  private var nextBeat = MonotonicInstant.now()

  init(
    phone: RegisteredPhone, state: StateFile, interrupt: Interrupt, answer: Watch.Answer, code: MatchCode?,
    delay: Int64, once: Bool, signsDocuments: Bool
  ) {
    self.phone = phone
    self.state = state
    self.interrupt = interrupt
    self.answer = answer
    self.code = code
    self.delay = delay
    self.once = once
    self.signsDocuments = signsDocuments
  }

  func run() throws {
    PhoneTerminal.say(
      "waiting for sign-ins of \(DisplayText.sanitized(phone.account.user)) "
        + "(\(DisplayText.sanitized(phone.account.application)))")
    let watch = RequestWatch(phone: phone, user: self, documents: state)
    guard let code, answer == .approve else { return try watch.run(once: once) }
    while true {
      if let requests = try watch.next(), !requests.isEmpty, try approveTheOne(of: requests, code, watch) { return }
    }
  }

  /// Approves the request with the code. A request without a code stays open, since it cannot be the right one. The
  /// service denies each request that is tried and has another code.
  ///
  /// - Returns: whether this is done; false if the service is unavailable.
  /// - Throws: if none of the requests has the code. The reader of the code cannot have seen later requests.
  private func approveTheOne(of requests: [OpenRequest], _ code: MatchCode, _ watch: RequestWatch) throws -> Bool {
    // The newest comes first: someone has just started it, and older requests need not be denied for it.
    for request in requests.reversed() where request.asksCode && request.method == .acceptance {
      switch try watch.settle(request) {
      case .over: return true
      case .hasAnotherCode: continue
      case .stillOpen: return false
      }
    }
    throw CommandProblem.noRequestWithCode
  }

  // MARK: - PhoneUser

  func hear(_ event: WatchEvent) {
    switch event {
    case .connectedAgain: PhoneTerminal.complain("connected again")
    case .unavailable(let error):
      PhoneTerminal.complain("the service is unavailable (\(Self.reason(of: error))), trying again")
    case .trainingRequired(let methods):
      let names = methods.map(\.rawValue).joined(separator: ", ")
      PhoneTerminal.complain(
        "a computer asked for \(names), which this command cannot prove; no sign-in was started. "
          + "To sign in there, register the phone's page in a browser with a screen lock")
    case .codesUsed(let uses): for use in uses { PhoneTerminal.complain(PhoneTerminal.line(of: use)) }
    case .answeredElsewhere(let answer):
      PhoneTerminal.say(
        "\(answer.isApproved ? "approved" : "denied") on \(DisplayText.sanitized(answer.phone, limit: 64)): "
          + answer.context.summary)
    case .answered(let decision, .taken): PhoneTerminal.say(Self.report(of: decision))
    case .answered(_, .hasAnotherCode): PhoneTerminal.say("denied: the terminal shows another code")
    case .answered(_, .alreadyAnswered): PhoneTerminal.say("the request has already been answered")
    case .answered(_, .tooLate): PhoneTerminal.say("too late: the request has ended")
    }
  }

  private static func reason(of error: PhoneError) -> String {
    switch error {
    case .transport(let error): "\(error.code)"
    case .unavailable(let status): "status \(status)"
    case .refused, .badReply, .key, .noRandomness, .methodNotSupported, .documentNotShown: "\(error)"
    }
  }

  private static func report(of decision: PhoneDecision) -> String {
    switch decision {
    case .approve: "approved"
    case .deny: "denied"
    case .notMe: "denied, and its source is blocked for 15 min"
    case .unable: "not possible: the request requires an unlocked phone, and this command cannot prove that"
    }
  }

  func pause(milliseconds: Int64) throws {
    if interrupt.wait(milliseconds: milliseconds) == .interrupted { throw leave() }
  }

  func decision(on request: OpenRequest) throws -> PhoneDecision? {
    PhoneTerminal.say(request.description(application: phone.account.application))
    return try decision(on: request, answer) { try askWhether("approve? [y/n] ", until: $0) }
  }

  func decision(on request: OpenRequest, _ review: DocumentReview) throws -> PhoneDecision? {
    switch review {
    case .fits(let document):
      let text = DocumentText(request: request, application: phone.account.application, document: document)
      PhoneTerminal.say(text.beginning)
      guard answer != .approve || signsDocuments else {
        PhoneTerminal.say("not answered: --answer approve does not sign documents; use ask, or add --sign-documents")
        return nil
      }
      let question = text.isWhole ? "approve? [y/n] " : "approve? [y/n, or all to read all] "
      return try decision(on: request, answer) { try askWhether(question, all: text.whole, until: $0) }
    case .misfit(let misfit):
      PhoneTerminal.say("not to be signed: \(misfit.explanation); tell the administrator of the service")
      // The request can be denied or left alone.
      guard answer == .ask else { return try decision(on: request, answer == .approve ? .deny : answer) { _ in nil } }
      return try decision(on: request, .ask) { end in
        try askWhether("deny it? [y/n] ", until: end).flatMap { $0 ? false : nil }
      }
    }
  }

  /// - Parameter ask: asks until the request ends; nil: no answer.
  private func decision(
    on request: OpenRequest, _ answer: Watch.Answer, _ ask: (MonotonicInstant) throws -> Bool?
  ) throws -> PhoneDecision? {
    // Requests were listed just now, or up to the listing's hold ago.
    nextBeat = .now().advanced(milliseconds: Self.beat - RegisteredPhone.holdTime * 1_000)
    if answer != .ignore, try wait(until: .now().advanced(milliseconds: delay)) == .interrupted { throw leave() }
    // This command has no screen lock. It says so at once, so that the sign-in does not wait.
    guard request.method == .acceptance || [.deny, .notMe, .ignore].contains(answer) else { return .unable }
    let end = MonotonicInstant.now().advanced(milliseconds: request.secondsLeft * 1_000)
    switch answer {
    case .approve:
      // Earlier typing may have been meant for the previous request.
      questions.forgetWhatWasTyped()
      return try approval(of: request, until: end)
    case .deny: return .deny
    case .notMe: return .notMe
    case .ignore:
      PhoneTerminal.say("ignored")
      return nil
    case .ask:
      questions.forgetWhatWasTyped()
      guard let isApproved = try ask(end) else { return nil }
      return isApproved ? try approval(of: request, until: end) : .deny
    }
  }

  // MARK: - The terminal

  /// Nil if the request ran out first, or if standard input has ended.
  private func askWhether(_ question: String, all: String? = nil, until end: MonotonicInstant) throws -> Bool? {
    while let line = try ask(question, until: end) {
      switch line.lowercased() {
      case "y", "yes": return true
      case "n", "no": return false
      case "all": if let all { PhoneTerminal.say(all) }
      default: continue
      }
    }
    return nil
  }

  /// An approval, with the code if the request requires it.
  private func approval(of request: OpenRequest, until end: MonotonicInstant) throws -> PhoneDecision? {
    guard request.asksCode else { return .approve() }
    if let code {
      // With `ask` the code belongs to the request that the user just approved, and to no other.
      if answer == .ask { self.code = nil }
      return .approve(code: code)
    }
    while let line = try ask("code on the terminal: ", until: end) {
      if let typed = MatchCode(line) { return .approve(code: typed) }
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
    do throws(PhoneError) {
      _ = try phone.status()
    } catch .transport(let error) where error.code == .interrupted {
      throw leave()
    } catch {}
  }

  private func leave() -> ExitCode { ExitCode(Interrupt.exitCode) }
}
