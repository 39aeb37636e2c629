import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The requests that a broker's phones have not answered yet. If the broker is killed, the next one ends them at the
/// service. Otherwise they would stay open until their time is over, and block the user.
public struct AskedRequests {
  /// The most requests that one start ends. A user has one at a time, and the broker has 30 callers.
  private static let mostAtOnce = 32

  private let setup: HostSetup
  private let kept: OpenSessions

  public init(setup: HostSetup) {
    self.setup = setup
    kept = .asked(run: setup.run)
  }

  /// The ids of requests that processes of an earlier broker have left.
  public var leftOver: [String] { ids.filter { !Self.isAsked($0) } }

  /// Whether a process still waits for an answer. A process that ends with its broker may take a moment.
  public var isAnyAsked: Bool { ids.contains { Self.isAsked($0) } }

  private var ids: [String] { (try? kept.ids()) ?? [] }

  /// The id, made from the request's address and from this process, which waits for the answer.
  private static func id(of session: RemoteSession) -> String {
    let process = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: getpid() >> $0) }
    return String(Digest.hexadecimal(Digest.sha256(Array(session.statusURL.utf8))).prefix(24))
      + Digest.hexadecimal(process)
  }

  /// Whether a process waits for the answer. If its number was reused, the request expires by itself.
  private static func isAsked(_ id: String) -> Bool {
    guard let number = Int32(id.suffix(8), radix: 16) else { return false }
    return ProcessIdentity(pid: number)?.isAlive == true
  }

  /// Ends requests at the service. A request that cannot be ended expires there by itself, and is not tried again.
  ///
  /// - Returns: the number of requests that the service has ended.
  public func end(_ ids: [String], by deadline: MonotonicInstant) throws(Misconfiguration) -> Int {
    let connection = try setup.service(as: try setup.credential(), interruption: nil)
    let settings: ServiceSettings
    do { settings = try setup.serviceSettings() } catch { throw .noServer }
    var count = 0
    for id in ids.prefix(Self.mostAtOnce) {
      defer { try? kept.remove(id) }
      guard let session = try? kept.read(id), let remote = try? session.remoteSession(settings) else { continue }
      if (try? connection.end(remote, deadline: deadline)) != nil { count += 1 }
    }
    return count
  }

  /// - Parameter seconds: seconds until the service ends it by itself.
  func keep(_ session: RemoteSession, seconds: Int64) {
    guard let origin = OpenSession.Origin.current() else { return }
    // Without the note the request expires by itself.
    try? kept.write(OpenSession(session, id: Self.id(of: session), origin: origin, end: Int64(time(nil)) + seconds))
  }

  func forget(_ session: RemoteSession) { try? kept.remove(Self.id(of: session)) }
}

/// The service. Each request is kept until it has ended.
struct KeptService: AuthenticationService {
  let service: any AuthenticationService
  let kept: AskedRequests
  /// How long a request may stay open at the service.
  let seconds: Int64

  func prepare() { service.prepare() }

  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    let answer = try service.start(token: token, question, durationSeconds: durationSeconds, deadline: deadline)
    if case .pending(let session) = answer { keep(session.remote) }
    return answer
  }

  func keep(_ session: RemoteSession) { kept.keep(session, seconds: seconds) }

  func forget(_ session: RemoteSession) { kept.forget(session) }

  var startMayHaveArrived: Bool { service.startMayHaveArrived }

  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    try service.approval(of: session, waitSeconds: waitSeconds, deadline: deadline)
  }

  func reach(deadline: MonotonicInstant) throws(ServiceError) { try service.reach(deadline: deadline) }

  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    // This is done even if that fails: the request expires there by itself.
    defer { kept.forget(session) }
    try service.end(session, deadline: deadline)
  }
}
