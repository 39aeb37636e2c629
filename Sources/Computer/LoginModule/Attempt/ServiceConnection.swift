import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

extension HostSetup {
  /// The service, over a worker that is not yet started.
  ///
  /// - Parameter user: the user whose phone is asked; nil if none is.
  func service(
    as credential: ServiceCredential, asking user: UnixUsername? = nil, interruption: (any Interruption)?
  ) throws(Misconfiguration) -> ServiceConnection {
    let transport = try transport(interruption: interruption)
    do {
      let client = try AuthenticationClient(
        settings: try serviceSettings(), credential: credential, transport: transport,
        bootID: BootName.current(), unixTime: { Int64(time(nil)) })
      if let user { client.codes = OpenMatchCodes(run: run, user: user) }
      return ServiceConnection(client: client, transport: transport)
    } catch let error as SigningError { throw .signing(error) } catch let error as Misconfiguration {
      throw error
    } catch {
      throw .noServer
    }
  }
}

/// The service, over one worker.
final class ServiceConnection: AuthenticationService {
  private let client: AuthenticationClient
  private let transport: WorkerTransport
  /// The last session that the service began for this sign-in, by its name in the log.
  private(set) var begun: String?
  /// Whether the service said that the user has no phone.
  private(set) var saidNoPhone = false
  /// Is called with a request that started as the user interrupted, and that could not be withdrawn.
  var leaves: (RemoteSession) -> Void = { _ in }

  init(client: AuthenticationClient, transport: WorkerTransport) {
    self.client = client
    self.transport = transport
  }

  deinit { transport.stop() }

  func reach(deadline: MonotonicInstant) throws(ServiceError) { try client.reach(deadline: deadline) }

  /// Starts the worker. If that fails, the request that needs it reports the failure.
  func prepare() { try? transport.prepare() }

  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    // Nothing is sent for a user who has left.
    if transport.isInterrupted { throw .transport(TransportError(.interrupted)) }
    // A start that was sent is waited for although the user interrupts: only its reply names the request, which would
    // stay open, and ring the phone for nobody.
    transport.grace = LoginPolicy.cancelMilliseconds
    defer { transport.grace = 0 }
    let answer: StartAnswer
    do throws(ServiceError) {
      answer = try client.start(token: token, question, durationSeconds: durationSeconds, deadline: deadline)
    } catch {
      // The user may interrupt after the start was lost, and before it is sent again: the error is then the loss.
      guard case .transport(let failure) = error, failure.code == .interrupted || transport.isInterrupted else {
        throw error
      }
      cancelUnansweredStart()
      throw .transport(TransportError(.interrupted))
    }
    var session: RemoteSession?
    switch answer {
    case .pending(let pending): session = pending.remote
    case .notVerifiable(let remote), .wantsCode(let remote): session = remote
    case .notStarted(let reason): saidNoPhone = reason == ReasonWord.noMobileDevice
    }
    begun = session?.label ?? begun
    guard transport.isInterrupted else { return answer }
    if let session { withdrawOrLeave(session) }
    throw .transport(TransportError(.interrupted))
  }

  /// The service may still be storing a start whose reply did not come in time. It does this also after the wait is over.
  private func cancelUnansweredStart() {
    transport.ignoreInterruption()
    try? client.cancelUnansweredStart(
      deadline: MonotonicInstant.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds))
  }

  private func withdrawOrLeave(_ session: RemoteSession) {
    let deadline = MonotonicInstant.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    do throws(ServiceError) { try end(session, deadline: deadline) } catch {
      if error.mayHaveLeftOpen { leaves(session) }
    }
  }

  var startMayHaveArrived: Bool { client.startMayHaveArrived }

  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    try client.approval(of: session, waitSeconds: waitSeconds, deadline: deadline)
  }

  /// Ends the request that another sign-in has left open. An interruption ends this call too.
  func withdraw(_ session: RemoteSession, by deadline: MonotonicInstant) throws(ServiceError) {
    try client.end(session, deadline: deadline)
  }

  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    transport.ignoreInterruption()
    try client.end(session, deadline: deadline)
  }
}
