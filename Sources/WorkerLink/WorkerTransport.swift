import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// How to start a worker, and whom it may talk to.
public struct WorkerSettings: Sendable {
  /// Of a worker for one login, in seconds: longer than any login.
  public static let loginLifetime: UInt32 = 150

  /// The only service the worker talks to.
  public let server: ServerURL
  /// What replaces the system's authorities; nil: the system's.
  public let caCertificates: CertificateBundle?
  /// `http://host:port` of a proxy; nil: none. The environment never names one.
  public let proxy: String?
  /// Absolute path of `iampass-https`.
  public let worker: String
  /// The user the worker becomes; nil keeps the caller's, which root may not do.
  public let workerUser: String?
  /// Absolute path of the socket at which workers wait for root's logins; nil: each login starts its own.
  public let standby: String?
  /// Seconds until the worker leaves by itself whatever happens; 0 for a service that keeps it for its life.
  public let lifetime: UInt32
  /// For a worker that waits to say who it is. One that has to be started by systemd first takes some 30 ms; with one
  /// that hangs, each login takes this longer. Milliseconds; another one is for tests of busy machines.
  var greetingTime: Int64 = 250

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

/// Exchanges by a worker process, so that no network, TLS or HTTP code runs inside the PAM host.
///
/// A worker that is gone is replaced at the next exchange. Not for several threads at once.
public final class WorkerTransport: HTTPTransport {
  private let settings: WorkerSettings
  private var interruption: (any Interruption)?
  private var worker: WorkerConversation?
  private var lastID: UInt32 = 0
  /// A child that the host forks during a login must not sign in by its parent's request, nor cancel it.
  private let owner = getpid()

  /// The worker's own deadline comes before the caller's by this many ms, so that it reports by itself: a worker
  /// that does not is dead or stopped, and nothing it failed to say is held against the network.
  private static let reportMargin: Int64 = 100

  /// Starts nothing: that is left to ``prepare()`` or the first exchange.
  public init(settings: WorkerSettings, interruption: (any Interruption)? = nil) {
    self.settings = settings
    self.interruption = interruption
  }

  deinit { stop() }

  /// Takes a worker that waits, or starts one, so that it loads its libraries while the caller does other things.
  /// Waits for nothing.
  public func prepare() throws(TransportError) { _ = try runningWorker() }

  public func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    let now = MonotonicInstant.now()
    guard now < deadline else { throw TransportError(.silent, detail: "no time left") }
    do throws(TransportError) {
      let worker = try knownWorker(within: deadline.milliseconds(since: now))
      lastID &+= 1
      let margin = min(Self.reportMargin, deadline.milliseconds(since: now) / 4)
      try worker.post(.request(id: lastID, deadline: deadline.advanced(milliseconds: -margin), request))
      return try worker.reply(to: lastID, deadline: deadline, interruption: interruption)
    } catch {
      switch error.code {
      case .workerDied: stop()
      case .interrupted: worker?.cancel(lastID)
      default: break
      }
      throw error
    }
  }

  /// After an interruption the request that cancels must still go out.
  public func ignoreInterruption() { interruption = nil }

  /// Ends the worker, within a second where it is the caller's own child, which is reaped. The next exchange would have
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

  /// Until then nothing secret goes out: what waits may be another program, elsewhere, or stopped.
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
  /// What the worker is told first.
  var origin: WorkerOrigin {
    WorkerOrigin(
      origin: server.origin, userAgent: "iampass", proxy: proxy ?? "", authorities: caCertificates?.pem ?? [],
      lifetime: lifetime)
  }

  /// A worker of the caller's own.
  func startedWorker() throws(TransportError) -> WorkerProcess {
    guard workerUser != nil || geteuid() != 0 else {
      throw TransportError(.workerFailed, detail: "no user for the worker, which never runs as root")
    }
    return try WorkerProcess(path: worker, user: geteuid() == 0 ? workerUser : nil)
  }

  fileprivate func startWorker() throws(TransportError) -> WorkerConversation {
    try WorkerConversation(startedWorker(), origin)
  }

  /// One that waits and has yet to say who it is; nil: none.
  fileprivate func standbyWorker() throws(TransportError) -> WorkerConversation? {
    guard let standby, let workerUser, geteuid() == 0,
      let taken = StandbyWorker(path: standby, program: worker, user: workerUser)
    else { return nil }
    return try WorkerConversation(taken, origin)
  }
}
