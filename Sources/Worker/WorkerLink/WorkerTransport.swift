import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// How to start a worker, and which service it may contact.
public struct WorkerSettings: Sendable {
  /// The lifetime of a worker for one login, in seconds: longer than any login.
  public static let loginLifetime: UInt32 = 150

  /// The only service that the worker contacts.
  public let server: ServerURL
  /// The authorities instead of the system's; nil: the system's.
  public let caCertificates: CertificateBundle?
  /// `http://host:port` of a proxy; nil without one. The environment never sets it.
  public let proxy: String?
  /// Absolute path of `iampass-https`.
  public let worker: String
  /// The user to which the worker changes; nil keeps the caller's, which root must not do.
  public let workerUser: String?
  /// Absolute path of the socket at which workers wait for root's logins; nil: each login starts its own worker.
  public let standby: String?
  /// Seconds until the worker leaves whatever happens; 0 for a service that keeps it for its own life.
  public let lifetime: UInt32
  /// In ms: the time for a waiting worker's greeting. A worker that systemd must start first takes some 30 ms. With a
  /// hanging worker, each login takes this much longer. Only tests of busy machines set another value.
  var greetingTime: Int64 = 250
  /// In ms: the worker's deadline comes this much before the caller's, so that the worker reports by itself. A worker
  /// without a report is dead or stopped, and its silence does not count against the network. Only tests of busy
  /// machines set another value.
  var reportMargin: Int64 = 100

  public init(
    server: ServerURL, caCertificates: CertificateBundle? = nil, proxy: String? = nil, worker: String,
    workerUser: String?,
    standby: String? = nil, lifetime: UInt32 = loginLifetime
  ) {
    self.server = server
    self.caCertificates = caCertificates
    self.proxy = proxy
    self.worker = worker
    self.workerUser = workerUser
    self.standby = standby
    self.lifetime = lifetime
  }
}

/// Whether the caller should stop waiting.
public protocol Interruption {
  /// A descriptor that becomes readable when the caller should stop, or -1.
  var descriptor: Int32 { get }
  func isPending() -> Bool
}

/// Exchanges messages through a worker process, so that no network, TLS or HTTP code runs inside the PAM host.
///
/// A worker that ended is replaced at the next exchange. Only one thread may use it.
public final class WorkerTransport: HTTPTransport {
  private let settings: WorkerSettings
  private var interruption: (any Interruption)?
  /// In ms: how long exchanges still wait for their replies after an interruption, together. Setting it begins the time
  /// again with the next interruption.
  public var grace: Int64 = 0 { didSet { graceEnd = nil } }
  private var graceEnd: MonotonicInstant?
  private var worker: WorkerConversation?
  private var lastID: UInt32 = 0
  /// A child that the host forks during a login must not use or cancel its parent's request.
  private let owner = getpid()

  /// Does not start a worker: ``prepare()`` or the first exchange does.
  public init(settings: WorkerSettings, interruption: (any Interruption)? = nil) {
    self.settings = settings
    self.interruption = interruption
  }

  deinit { stop() }

  /// Connects to a waiting worker, or starts one, so that it loads its libraries while the caller does other things.
  /// Never waits.
  public func prepare() throws(TransportError) { _ = try runningWorker() }

  public func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    let now = MonotonicInstant.now()
    guard now < deadline else { throw TransportError(.silent, detail: "no time left") }
    do throws(TransportError) {
      let worker = try knownWorker(within: deadline.milliseconds(since: now))
      lastID &+= 1
      let margin = min(settings.reportMargin, deadline.milliseconds(since: now) / 4)
      try worker.post(.request(id: lastID, deadline: deadline.advanced(milliseconds: -margin), request))
      return try reply(of: worker, deadline)
    } catch {
      switch error.code {
      case .workerDied: stop()
      case .interrupted: worker?.cancel(lastID)
      default: break
      }
      throw error
    }
  }

  /// Whether the caller should stop waiting.
  public var isInterrupted: Bool { interruption?.isPending() == true }

  private func reply(of worker: WorkerConversation, _ deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    do throws(TransportError) {
      return try worker.reply(to: lastID, deadline: deadline, interruption: interruption)
    } catch {
      guard error.code == .interrupted, grace > 0 else { throw error }
    }
    let end = min(deadline, graceEnd ?? MonotonicInstant.now().advanced(milliseconds: grace))
    graceEnd = end
    do throws(TransportError) {
      return try worker.reply(to: lastID, deadline: end, interruption: nil)
    } catch {
      // The worker does not know of the grace, and cannot report before it is over.
      guard error.code == .workerDied, MonotonicInstant.now() >= end else { throw error }
      throw TransportError(.interrupted)
    }
  }

  /// After an interruption the cancelling request must still go out.
  public func ignoreInterruption() { interruption = nil }

  /// Ends the worker. A worker that is the caller's own child is reaped within a second. The next exchange would start
  /// another.
  public func stop() { worker = nil }

  private func runningWorker() throws(TransportError) -> WorkerConversation {
    guard owner == getpid() else { throw TransportError(.workerFailed, detail: "another process began this") }
    if let worker, !worker.isOver { return worker }
    stop()
    if let waiting = try settings.standbyWorker() {
      worker = waiting
      return waiting
    }
    return try startedWorker()
  }

  private func startedWorker() throws(TransportError) -> WorkerConversation {
    let started = try settings.startWorker()
    worker = started
    return started
  }

  /// No secret goes out before this. The listener may be another program, in another place, or stopped.
  private func knownWorker(within milliseconds: Int64) throws(TransportError) -> WorkerConversation {
    let running = try runningWorker()
    var isKnown = false
    do throws(TransportError) {
      isKnown = try running.isKnown(within: min(milliseconds, settings.greetingTime), interruption: interruption)
    } catch {
      guard error.code == .workerDied else { throw error }
    }
    if isKnown { return running }
    stop()
    return try startedWorker()
  }
}

extension WorkerSettings {
  /// The first frame to the worker.
  var origin: WorkerOrigin {
    WorkerOrigin(
      origin: server.origin, userAgent: "iampass", proxy: proxy ?? "", authorities: caCertificates?.pem ?? [],
      lifetime: lifetime)
  }

  /// The caller's own worker.
  func startedWorker() throws(TransportError) -> WorkerProcess {
    guard workerUser != nil || geteuid() != 0 else {
      throw TransportError(.workerFailed, detail: "no user for the worker, which never runs as root")
    }
    return try WorkerProcess(path: worker, user: geteuid() == 0 ? workerUser : nil)
  }

  fileprivate func startWorker() throws(TransportError) -> WorkerConversation {
    try WorkerConversation(startedWorker(), origin)
  }

  /// A waiting worker whose greeting is still to come; nil without one.
  fileprivate func standbyWorker() throws(TransportError) -> WorkerConversation? {
    guard let standby, let workerUser, geteuid() == 0,
      let taken = StandbyWorker(path: standby, program: worker, user: workerUser)
    else { return nil }
    return try WorkerConversation(taken, origin)
  }
}
