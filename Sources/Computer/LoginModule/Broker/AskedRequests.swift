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
  /// The parts of an id, in hexadecimal digits. The start time takes the rest.
  private static let (addressDigits, pidDigits, startDigits) = (12, 8, 12)

  private let setup: HostSetup
  private let kept: OpenSessions
  private let unixTime: () -> Int64

  /// - Parameter unixTime: seconds since 1970.
  public init(setup: HostSetup, unixTime: @escaping () -> Int64 = { Int64(time(nil)) }) {
    self.setup = setup
    self.unixTime = unixTime
    kept = .asked(run: setup.run)
  }

  /// The ids of requests that processes of an earlier broker have left.
  public var leftOver: [String] { ids.filter { !Self.isAsked($0) } }

  /// Whether a process still waits for an answer. A process that ends with its broker may take a moment.
  public var isAnyAsked: Bool { ids.contains { Self.isAsked($0) } }

  private var ids: [String] { (try? kept.ids()) ?? [] }

  /// The id, made from the request's address and from the process that waits for the answer. The process's start time
  /// is in it, so that a later process with the same number does not count as the one that waits.
  static func id(of statusURL: String, asking process: ProcessIdentity) -> String {
    String(Digest.hexadecimal(Digest.sha256(Array(statusURL.utf8))).prefix(addressDigits))
      + digits(UInt64(UInt32(bitPattern: process.pid)), pidDigits) + digits(process.startTime, startDigits)
  }

  /// The last `count` hexadecimal digits, with zeros in front.
  private static func digits(_ number: UInt64, _ count: Int) -> String {
    let bytes = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    return String(Digest.hexadecimal(bytes).suffix(count))
  }

  /// The id of this process's request; nil if `/proc` does not show this process.
  private static func id(of session: RemoteSession) -> String? {
    ProcessIdentity.current().map { id(of: session.statusURL, asking: $0) }
  }

  /// Whether the very process that made this id waits for the answer.
  private static func isAsked(_ id: String) -> Bool {
    let process = id.dropFirst(addressDigits)
    guard let pid = Int32(process.prefix(pidDigits), radix: 16),
      let start = UInt64(process.dropFirst(pidDigits), radix: 16)
    else { return false }
    return ProcessIdentity(pid: pid, startTime: start).isAlive
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
    dropExpired()
    // Without the note the request expires by itself.
    guard let id = Self.id(of: session) else { return }
    // The origin is not compared: these notes are read only on this computer.
    let origin = OpenSession.Origin.current() ?? OpenSession.Origin(machine: "", boot: "")
    try? kept.write(OpenSession(session, id: id, origin: origin, end: unixTime() + seconds))
  }

  func forget(_ session: RemoteSession) {
    if let id = Self.id(of: session) { try? kept.remove(id) }
  }

  /// Removes the notes of processes that have ended, once the service has ended their requests by itself. A broker that
  /// always has callers would otherwise collect them.
  private func dropExpired() {
    let now = unixTime()
    for id in leftOver where (try? kept.read(id)).map({ $0.end <= now }) ?? true { try? kept.remove(id) }
  }
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
