import CHost
import Glibc
import IAMPASSProtocol

/// How to start a worker, and whom it may talk to.
public struct WorkerSettings: Sendable {
  /// Of a worker for one login, in seconds: longer than any login.
  public static let loginLifetime: UInt32 = 150

  /// The only service the worker talks to.
  public let server: ServerURL
  /// PEM certificates that replace the system's; nil: the system's.
  public let caCertificates: [UInt8]?
  /// `http://host:port` of a proxy; nil: none. The environment never names one.
  public let proxy: String?
  /// Absolute path of `iampass-https`.
  public let worker: String
  /// The user the worker becomes; nil keeps the caller's, which root may not do.
  public let workerUser: String?
  /// Seconds until the worker leaves by itself whatever happens; 0 for a service that keeps it for its life.
  public let lifetime: UInt32

  public init(
    server: ServerURL, caCertificates: [UInt8]? = nil, proxy: String? = nil, worker: String, workerUser: String?,
    lifetime: UInt32 = loginLifetime
  ) {
    self.server = server
    self.caCertificates = caCertificates
    self.proxy = proxy
    self.worker = worker
    self.workerUser = workerUser
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

  /// Starts the worker, so that it loads its libraries while the caller does other things. Waits for nothing.
  public func prepare() throws(TransportError) { _ = try runningWorker() }

  public func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    let now = MonotonicInstant.now()
    guard now < deadline else { throw TransportError(.silent, detail: "no time left") }
    do throws(TransportError) {
      let worker = try runningWorker()
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

  /// Ends the worker and reaps it, within a second. The next exchange would start another.
  public func stop() { worker = nil }

  private func runningWorker() throws(TransportError) -> WorkerConversation {
    guard owner == getpid() else { throw TransportError(.workerFailed, detail: "another process began this") }
    if let worker, !worker.isOver { return worker }
    stop()
    let started = WorkerConversation(try settings.startWorker())
    worker = started
    return started
  }
}

extension WorkerSettings {
  /// A running worker that knows its settings.
  func startWorker() throws(TransportError) -> WorkerSocket {
    guard workerUser != nil || geteuid() != 0 else {
      throw TransportError(.workerFailed, detail: "no user for the worker, which never runs as root")
    }
    let started = WorkerSocket(try WorkerProcess(path: worker, user: geteuid() == 0 ? workerUser : nil))
    try started.post(
      .settings(
        WorkerOrigin(
          origin: server.origin, userAgent: "iampass", proxy: proxy ?? "", authorities: caCertificates ?? [],
          lifetime: lifetime)))
    return started
  }
}
