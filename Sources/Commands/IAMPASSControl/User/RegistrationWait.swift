import CommandSupport
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Waits at a terminal for a phone to register, pins it, and tests it.
struct RegistrationWait {
  /// Longer than links live at `iampass-server`, in ms.
  private static let patience: Int64 = 20 * 60_000
  private static let interval: Int64 = 1_000

  let host: ConfiguredHost
  let user: EnrolledUser
  let proof: KeyProof
  /// The ids of the phones that the user already has.
  var known: [String] = []

  func run() throws(CommandProblem) {
    try waitForPhone()
    Terminal.say("\(user.name)'s phone is registered")
    let arrived = ArrivedPhone(host: host, user: user, proof: proof)
    let pinned = try arrived.pin()
    if try Prompt(interrupt: host.interrupt).agrees("Try a sign-in on it now?") {
      try TestSignIn(host: host, user: user).run()
    }
    if let pinned { try arrived.pinAgain(after: pinned) }
  }

  private func waitForPhone() throws(CommandProblem) {
    let spinner = Spinner("waiting for \(user.name)'s phone (Ctrl-C leaves the link as it is)", host.interrupt)
    defer { spinner.clear() }
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    while try !isThere() {
      guard MonotonicInstant.now() < end else { throw .noPhoneCame(user.name) }
      guard spinner.turn(milliseconds: Self.interval) else { throw .stoppedWaiting(user.name) }
    }
  }

  /// Whether the phone has registered. A short network failure does not end the wait.
  private func isThere() throws(CommandProblem) -> Bool {
    do throws(CommandProblem) {
      guard !known.isEmpty else { return try host.hasPhone(user) }
      return try host.phones(of: user)?.phones.contains { !known.contains($0.id) } ?? false
    } catch {
      if error.isPassing { return false }
      throw error == .interrupted ? .stoppedWaiting(user.name) : error
    }
  }
}

/// A test of the phone: it is asked as for a sign-in, and the session is ended at once.
struct TestSignIn {
  /// The requested time of the session in seconds. The session is ended at once anyway.
  private static let duration: Int64 = 60

  let host: ConfiguredHost
  let user: EnrolledUser

  func run() throws(CommandProblem) {
    let isNamed = host.setup.configuration.sendContext != .no
    // This may be the user's first request.
    let context = SignInContext(
      host: isNamed ? RecordedSessions.hostName() : nil, service: "iampassctl", user: user.name.text)
    let question = PhoneQuestion(host: host, user: user, duration: Self.duration, context: context)
    let session = try question.approval("approve the sign-in on the phone")
    Terminal.say("approved: the phone works")
    question.end(session.remote)
  }
}

/// One moving line while the command waits. It is not wider than the terminal, because a wrapped line would scroll. On
/// a terminal without cursor movement it is printed once.
final class Spinner {
  private static let frames = ["|", "/", "-", "\\"]
  private static let step: Int64 = 125

  private let text: String
  private let interrupt: Interrupt
  private var frame = 0

  init(_ text: String, _ interrupt: Interrupt) {
    self.text = text
    self.interrupt = interrupt
  }

  /// Turns for this time; false if the user pressed Ctrl-C.
  func turn(milliseconds: Int64) -> Bool {
    let end = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    while MonotonicInstant.now() < end {
      show()
      frame += 1
      if interrupt.wait(milliseconds: Self.step) == .interrupted { return false }
    }
    return true
  }

  private func show() {
    guard Terminal.showsPictures else {
      if frame == 0 { Terminal.say(text) }
      return
    }
    let line = "\(Self.frames[frame % Self.frames.count]) \(text)"
    // On some terminals the cursor after the last column is in the next line.
    let columns = Terminal.size.map { $0.columns - 1 } ?? line.count
    Terminal.put("\r" + TerminalColumns.prefix(of: line, columns: columns))
  }

  /// Removes the line. A second call does nothing.
  func clear() {
    if frame > 0, Terminal.showsPictures { Terminal.put("\r\u{1B}[K") }
    frame = 0
  }
}
