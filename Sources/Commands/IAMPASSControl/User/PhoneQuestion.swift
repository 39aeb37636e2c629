import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A request on a user's phone, which is waited for at this terminal.
struct PhoneQuestion {
  /// As long as a person needs to find the phone, in ms.
  private static let patience: Int64 = 60_000
  /// Seconds that the service may hold a reply; short, so that the spinner turns.
  private static let hold: Int64 = 1
  /// Between two questions where a reply that is said to be held comes at once, in ms.
  private static let shortestHold: Int64 = 2_000

  let host: ConfiguredHost
  let user: EnrolledUser
  /// Seconds that the session lasts at most.
  let duration: Int64
  let context: SignInContext?

  /// The session that the phone opened; any other ending of the request is told to the service, and thrown.
  ///
  /// - Parameter text: what the spinner says.
  func approval(_ text: String) throws(Failure) -> ActiveSession {
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
      // First, since a narrow terminal cuts the line.
      let code = session.matchCode.map { "code \($0): " } ?? ""
      do throws(Failure) {
        let active = try wait(for: session, Spinner(code + text, host.interrupt))
        try requireStillTrusted(active)
        return active
      } catch {
        end(session.remote)
        throw error
      }
    }
  }

  /// An administrator can have taken the phone off the list while the phone was asked.
  private func requireStillTrusted(_ active: ActiveSession) throws(Failure) {
    switch try host.question(of: user.name, context: context) {
    case .service: break
    case .phone(let demand, _):
      guard let approval = active.approval, demand.takes(approval) else { throw .phoneForgotten(user.name) }
    }
  }

  private func wait(for session: PendingSession, _ spinner: Spinner) throws(Failure) -> ActiveSession {
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
        // A service that says that it holds its replies and does not is not asked in a circle.
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
