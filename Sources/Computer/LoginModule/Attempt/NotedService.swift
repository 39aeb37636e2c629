import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The service, with a note of each request while a phone is asked.
///
/// Before a new request it withdraws those that the user's earlier sign-ins have left open, which would block the new
/// one: sign-ins that were killed, or that could not withdraw their own.
final class NotedService: AuthenticationService {
  let service: any AuthenticationService
  let notes: RequestNotes
  let settings: ServiceSettings
  let clock: any LoginClock
  /// How long a request may stay open at the service, in seconds.
  let seconds: Int64
  /// Ends a dead request at the service. An interruption also ends the call.
  let withdraw: (RemoteSession, MonotonicInstant) throws(ServiceError) -> Void
  /// Is called with the withdrawn request's name.
  let tell: (String) -> Void
  /// The notes by `status_url`.
  private var asked: [String: RequestNote] = [:]

  init(
    service: any AuthenticationService, notes: RequestNotes, settings: ServiceSettings, clock: any LoginClock,
    seconds: Int64,
    withdraw: @escaping (RemoteSession, MonotonicInstant) throws(ServiceError) -> Void,
    tell: @escaping (String) -> Void
  ) {
    self.service = service
    self.notes = notes
    self.settings = settings
    self.clock = clock
    self.seconds = seconds
    self.withdraw = withdraw
    self.tell = tell
  }

  func prepare() { service.prepare() }

  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    withdrawLeftOver(by: deadline)
    let answer = try service.start(token: token, question, durationSeconds: durationSeconds, deadline: deadline)
    if case .pending(let session) = answer {
      // Without a note the request expires by itself if this process is killed.
      asked[session.remote.statusURL] = try? notes.note(session.remote, seconds: seconds)
    }
    return answer
  }

  var startMayHaveArrived: Bool { service.startMayHaveArrived }

  /// When this returns, there is no note of an approved session, so that no later sign-in ends it.
  ///
  /// - Throws: also ``ServiceError/requestStaysNoted``, which refuses the sign-in.
  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    let answer = try service.approval(of: session, waitSeconds: waitSeconds, deadline: deadline)
    if case .approved = answer {
      do { try forget(session.remote) } catch { throw .requestStaysNoted }
    }
    return answer
  }

  func reach(deadline: MonotonicInstant) throws(ServiceError) { try service.reach(deadline: deadline) }

  /// A request that may still be open afterwards is left to the user's next sign-in.
  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    do throws(ServiceError) { try service.end(session, deadline: deadline) } catch {
      if error.mayHaveLeftOpen { leave(session) } else { try? forget(session) }
      throw error
    }
    try? forget(session)
  }

  /// Leaves a note of the request. The next sign-in takes it once this object is gone, or at once if there was no note.
  private func leave(_ session: RemoteSession) {
    guard asked[session.statusURL] == nil else { return }
    _ = try? notes.note(session, seconds: seconds)
  }

  private func forget(_ session: RemoteSession) throws(FileError) {
    try asked[session.statusURL]?.remove()
    asked[session.statusURL] = nil
  }

  /// Takes at most as long as a cancellation. A request that could not be withdrawn is left to the next sign-in.
  private func withdrawLeftOver(by deadline: MonotonicInstant) {
    guard let left = try? notes.leftOver(), !left.isEmpty else { return }
    let end = min(deadline, clock.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds))
    for note in left {
      do throws(ServiceError) {
        try withdraw(try note.request.remoteSession(settings), end)
        tell(note.request.publicName)
      } catch {
        if case .transport = error { return }
        if error.mayHaveLeftOpen { continue }
        // The request is over at the service.
      }
      try? note.remove()
    }
  }
}

extension ServiceError {
  /// Whether a request may still be open at the service that was to be ended, and by this error was not.
  var mayHaveLeftOpen: Bool {
    if case .transport = self { return true }
    return isPassing
  }
}
