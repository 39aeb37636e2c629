import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A request to a user's phone. The command waits for the answer at this terminal.
struct PhoneQuestion {
  /// How long to wait for an answer, in ms: a person may have to find the phone first.
  private static let patience: Int64 = 60_000
  /// How long the service may hold a reply, in seconds. It is short, so that the spinner turns.
  private static let hold: Int64 = 1
  /// The time between two questions if a reply that claims to be held comes at once, in ms.
  private static let shortestHold: Int64 = 2_000

  let host: ConfiguredHost
  let user: EnrolledUser
  /// The longest time of the session in seconds.
  let duration: Int64
  let context: SignInContext?

  /// The approved session. On any other ending the request is ended at the service, and an error is thrown.
  ///
  /// - Parameter text: the spinner's text.
  func approval(_ text: String) throws(CommandProblem) -> ActiveSession {
    let question = try host.question(of: user.name, context: context)
    do { try question.prepareToVerify() } catch { throw .service(.approvalNotVerified(.unverifiable(error))) }
    let answer = try host.authenticate { (client, deadline) throws(ServiceError) in
      client.codes = OpenMatchCodes(run: host.setup.run, user: user.name)
      return try client.start(token: user.token, question, durationSeconds: duration, deadline: deadline)
    }
    switch answer {
    case .notVerifiable(let session):
      end(session)
      throw .notVerifiable
    case .wantsCode(let session):
      end(session)
      throw .service(.badReply(.refused(reason: ReasonWord.codeRequired)))
    case .notStarted(let reason): throw .service(.badReply(.refused(reason: reason)))
    case .pending(let session):
      // The code comes first, because a narrow terminal cuts the line.
      let code = session.matchCode.map { "code \($0): " } ?? ""
      do throws(CommandProblem) {
        let active = try wait(for: session, Spinner(code + text, host.interrupt))
        try requireStillTrusted(active)
        return active
      } catch {
        end(session.remote)
        throw error
      }
    }
  }

  /// Throws if an administrator has removed the phone from the list while the phone was asked.
  private func requireStillTrusted(_ active: ActiveSession) throws(CommandProblem) {
    switch try host.question(of: user.name, context: context) {
    case .service: break
    case .phone(let demand, _):
      guard let approval = active.approval, demand.takes(approval) else { throw .phoneForgotten(user.name) }
    }
  }

  private func wait(for session: PendingSession, _ spinner: Spinner) throws(CommandProblem) -> ActiveSession {
    defer { spinner.clear() }
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    while MonotonicInstant.now() < end {
      guard spinner.turn(milliseconds: 100) else { throw .interrupted }
      let asked = MonotonicInstant.now()
      let answer = try host.authenticate { (client, deadline) throws(ServiceError) in
        try client.approval(of: session, waitSeconds: Self.hold, deadline: deadline)
      }
      switch answer {
      case .approved(let active): return active
      case .waiting(_, let held):
        // A service that claims to hold its replies but does not must not be asked without a pause.
        let took = MonotonicInstant.now().milliseconds(since: asked)
        let rest = !held ? 500 : took >= Self.hold * 900 ? 0 : Self.shortestHold - took
        if rest > 0 { _ = spinner.turn(milliseconds: rest) }
      case .ended(_, let reason): throw .notApproved(ReasonWord.text(of: reason) ?? "the service ended the request")
      }
    }
    throw .notApproved("not answered in time")
  }

  func end(_ session: RemoteSession) {
    host.ignoreInterruption()
    _ = try? host.authenticate(milliseconds: 2_000) { (client, deadline) throws(ServiceError) in
      try client.end(session, deadline: deadline)
    }
  }
}
