import HostState
import PAMStacks

/// Judges the stacks of a service that has the module.
public struct StackJudgement {
  static let module = PAMLine.ownModule

  public let service: String
  public let auth: [PAMEntry]
  public let session: [PAMEntry]
  /// What users see of the match code in this service.
  public let shows: ServiceRow.Shows

  /// - Parameter shows: nil: the value in ``ServiceTable``.
  public init(service: String, auth: [PAMEntry], session: [PAMEntry], shows: ServiceRow.Shows? = nil) {
    self.shows = shows ?? ServiceTable.row(service)?.shows ?? .text
    self.service = service
    self.auth = auth
    self.session = session
  }

  /// The module's auth lines.
  public var ownLines: [PAMLine] { auth.flatMap(\.lines).filter { $0.moduleName == Self.module && !$0.servesKeyring } }
  public var hasModule: Bool { !ownLines.isEmpty }

  /// The values of `timeout` in these lines, in seconds. A line without it waits as the configuration says.
  public var timeouts: [Int64] { ownLines.compactMap(\.moduleArguments.timeout) }

  /// - Parameter opensSession: whether the service opens a session, which the helper watches.
  public func findings(opensSession: Bool) -> [Finding] {
    guard let line = ownLines.first else { return [] }
    let dangers =
      openDoors() + skippedPhone() + endings(line) + lockOuts(line) + order(line) + (opensSession ? sessions() : [])
    let twice =
      ownLines.count > 1
      ? [finding(.warning, "asks the phone \(ownLines.count) times", "remove all but one line of pam_iampass.so")] : []
    let all = dangers + twice
    let without = shows == .nothing ? " without digits, since it shows none" : ""
    return all.isEmpty ? [finding(.ok, "asks the phone\(without) (\(line.place))", nil)] : all
  }

  /// Findings about an unlisted service, in which the module answers authinfo_unavail without asking the phone. None if
  /// the stack ignores that answer.
  ///
  /// - Parameter refusing: the level of the finding that nobody gets in.
  public func findingsUnlisted(refusing: Finding.Level) -> [Finding] {
    guard let line = ownLines.first else { return [] }
    if opens(.authinfoUnavail, passwordRight: false) {
      return [
        finding(
          .problem, "lets anybody in: it is not in services, and nothing but the phone is asked for (\(line.place))",
          "end the auth stack with: auth requisite pam_deny.so")
      ]
    }
    guard opens(.success, passwordRight: true), !opens(.authinfoUnavail, passwordRight: true) else { return [] }
    return [
      finding(
        refusing, "refuses every sign-in: it is not in services, and needs pam_iampass.so (\(line.place))",
        "name \(service) in services too, or take pam_iampass.so out of \(line.file)")
    ]
  }

  private func finding(_ level: Finding.Level, _ text: String, _ hint: String?) -> Finding {
    Finding(level, .pam, "\(service): \(text)", hint: hint)
  }
}

// Simulated sign-ins. The parameters are the phone's answer, and whether the other factor is right.
extension StackJudgement {
  /// The module's answer to a denial.
  var denial: PAMResult { DesktopServices.isGDM(service) ? .permDenied : .maxtries }

  var refusals: [(PAMResult, String)] {
    [(denial, "a denial on the phone")] + Self.otherRefusals
  }

  private static let otherRefusals: [(PAMResult, String)] = [
    (.abort, "Ctrl-C"), (.authErr, "no answer from the phone"),
    (.authinfoUnavail, "a service that cannot be reached"), (.userUnknown, "a user without token"),
    (.serviceErr, "a broken configuration"), (.moduleUnknown, "a missing pam_iampass.so"),
  ]

  /// Whether the user gets in.
  func opens(_ phone: PAMResult, passwordRight: Bool) -> Bool {
    run(phone, passwordRight: passwordRight).opens
  }

  private func run(_ phone: PAMResult, passwordRight: Bool) -> (opens: Bool, asked: [PAMLine]) {
    var dispatch = PAMDispatch { line in
      // This line does not authenticate.
      if line.servesKeyring { return .ignore }
      return line.moduleName == Self.module ? phone : line.presumedResult(passwordRight: passwordRight)
    }
    let opens = dispatch.run(auth)
    return (opens, dispatch.asked)
  }

  /// The place of the line that rings the phone at once, even if a wrong password was typed; nil if there is none.
  public var ringsForAnyPassword: String? {
    run(.authErr, passwordRight: false).asked.first { $0.isOwn && $0.moduleArguments.prompt == .push }?.place
  }

  /// Findings if users get in without phone and password.
  private func openDoors() -> [Finding] {
    var open = refusals.filter { opens($0.0, passwordRight: false) }.map(\.1)
    if ownLines.contains(where: \.moduleArguments.failsOpen), opens(.ignore, passwordRight: false) {
      open.append("fail=open while the network is out")
    }
    guard !open.isEmpty else { return [] }
    return [
      finding(
        .problem, "lets anybody in after \(Words.either(open))",
        "end the auth stack with: auth requisite pam_deny.so")
    ]
  }

  /// Whether phone and password are both required: the phone's success alone does not open the stack.
  private var wantsBoth: Bool {
    !opens(.success, passwordRight: false) && opens(.success, passwordRight: true)
  }

  /// The answers that a caller can force from the module, or from libpam in its place.
  private var bringable: [(PAMResult, String)] {
    let answers: [(PAMResult, String)] = [
      (denial, "a denial on the phone"), (.abort, "Ctrl-C"), (.authErr, "no answer from the phone"),
      // An answer that comes too fast, a long command and process limits have the same result.
      (.authinfoUnavail, "a row of unanswered requests"),
    ]
    // With such a limit the smaller modules can be loaded, but not this one.
    let takesLimits = ServiceTable.row(service)?.hasOwnLimits != true && !DesktopServices.isGreeter(service)
    return answers + (takesLimits ? [(.moduleUnknown, "a low memory limit")] : [])
  }

  /// If the phone is the second factor, a caller must not be able to skip it.
  private func skippedPhone() -> [Finding] {
    guard wantsBoth else { return [] }
    let direct = run(.success, passwordRight: true).asked.contains { $0.moduleName == Self.module && !$0.servesKeyring }
    let skips = bringable.filter { opens($0.0, passwordRight: true) }
    if !direct {
      return [finding(.problem, "the password alone opens it; the phone is never asked", "move pam_iampass.so above")]
    }
    guard !skips.isEmpty else { return [] }
    let outage = skips.contains { $0.0 == .authinfoUnavail } ? "; only fail=open there tells an outage apart" : ""
    return [
      finding(
        .problem, "\(Words.either(skips.map(\.1))) skips the phone, which is the second factor",
        "use required, or [success=ok default=die], in the line of pam_iampass.so" + outage)
    ]
  }

  /// If the phone replaces the password, a denial should end the attempt. It should not lead to guesses of the password.
  private func endings(_ line: PAMLine) -> [Finding] {
    guard !wantsBoth else { return [] }
    let goesOn = refusals.filter { [denial, .abort].contains($0.0) && opens($0.0, passwordRight: true) }.map(
      \.1)
    guard !goesOn.isEmpty else { return [] }
    return [
      finding(
        .warning, "after \(Words.either(goesOn)) the password is still asked for (\(line.place))",
        "add maxtries=die perm_denied=die abort=die to its control")
    ]
  }

  /// Findings if users are locked out while the service or the module is missing.
  private func lockOuts(_ line: PAMLine) -> [Finding] {
    guard !wantsBoth else { return [] }
    let closed = refusals.filter {
      [.authinfoUnavail, .serviceErr, .moduleUnknown].contains($0.0) && !opens($0.0, passwordRight: true)
    }.map(\.1)
    guard !closed.isEmpty else { return [] }
    return [
      finding(
        .warning, "no way in is left after \(Words.either(closed))",
        "keep a password behind it, with default=ignore in the control at \(line.place)")
    ]
  }

  private func order(_ line: PAMLine) -> [Finding] {
    guard !wantsBoth else { return [] }
    let before = auth.flatMap(\.lines).prefix { $0 != line }.filter {
      $0.isFactor && $0.passesOverOnSuccess
    }
    guard let first = before.first else { return [] }
    return [
      finding(
        .warning, "asks the phone only after \(first.moduleName).so has refused (\(first.place))",
        "move the line of pam_iampass.so above it")
    ]
  }

  /// The hint for an unknown service.
  private var sudoLikeHint: String {
    "; if it opens no login session, as sudo, \(ServiceProposal.row(for: service))"
  }

  private func sessions() -> [Finding] {
    let lines = session.flatMap(\.lines)
    guard let own = lines.firstIndex(where: { $0.moduleName == Self.module }) else {
      return [
        finding(
          .problem, "has no session line of pam_iampass.so: nobody would watch the session",
          "pam-auth-update --enable iampass-session" + (ServiceTable.row(service) == nil ? sudoLikeHint : ""))
      ]
    }
    guard let logind = lines.firstIndex(where: { $0.moduleName == "pam_systemd" }) else {
      return [
        finding(
          .problem, "has no pam_systemd.so: there is no logind session to watch", "apt-get install libpam-systemd")
      ]
    }
    guard logind < own else {
      return [
        finding(
          .problem,
          "pam_iampass.so opens its session before pam_systemd.so (\(lines[own].place)): there is no logind "
            + "session yet, and approved sign-ins are refused",
          "move the line below \(lines[logind].place)")
      ]
    }
    return []
  }
}
