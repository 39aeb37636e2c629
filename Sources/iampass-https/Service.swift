import CCurl
import CHost
import CLibcrypto
import Glibc
import IAMPASSClient
import IAMPASSProtocol

/// The worker's loop: any number of requests at once over libcurl's connections.
final class Service {
  private let parent: ParentConnection
  private let multi: UnsafeMutableRawPointer
  private let events: SocketEvents
  private let agenda = Agenda()
  private var target: Target?
  private var handles: HandlePool?
  private var transfers: [UInt32: Transfer] = [:]
  private var idsByHandle: [UnsafeMutableRawPointer: UInt32] = [:]
  private var end: MonotonicInstant?

  /// Nothing is under way: the parent's next frame, or its end, wakes the loop. In ms.
  private static let idle: Int64 = 60_000

  /// Of a worker for one login, in s. One that uses more than a few hundredths is looping.
  private static let processorTime: UInt = 10

  /// A service is not to see a host as a crowd.
  private static let mostConnections = 8
  /// Held requests on one connection of HTTP/2, where the service allows as many.
  private static let mostStreams = 250

  /// Nil where libcurl or its TLS library cannot start.
  init?(parent: ParentConnection) {
    // Before libcurl starts it with openssl.cnf.
    guard iampass_crypto_start() == 1, curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
      let multi = curl_multi_init(),
      iampass_curl_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.mostConnections) == CURLM_OK,
      iampass_curl_multi_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.mostStreams) == CURLM_OK,
      let events = SocketEvents(multi: multi, parent: parent.descriptor)
    else { return nil }
    self.parent = parent
    self.multi = multi
    self.events = events
  }

  /// Serves until the parent leaves or the worker's time is over.
  func run() {
    while true {
      while let frame = parent.next() { take(frame) }
      events.serveTimer()
      reportFinished()
      let now = MonotonicInstant.now()
      reportOverdue(now)
      parent.flush()
      if parent.isOver { return }
      if let end, now >= end { return }
      let next = [agenda.next, end].compactMap(\.self).min() ?? now.advanced(milliseconds: Self.idle)
      if events.take(until: next, sendsToParent: parent.wantsToSend) { parent.receive() }
    }
  }

  private func take(_ frame: WorkerFrame) {
    switch frame {
    case .settings(let origin):
      // Once: connections and handles are of one service.
      guard target == nil else { return }
      target = Target(origin)
      handles = target.map(HandlePool.init)
      guard origin.lifetime > 0 else { return }
      end = .now().advanced(milliseconds: Int64(origin.lifetime) * 1000)
      _ = iampass_limit(Int32(RLIMIT_CPU.rawValue), Self.processorTime)
    case .request(let id, let deadline, let request): start(id, deadline, request)
    case .cancel(let id): drop(id)
    // Only workers write these.
    case .reply, .failure: break
    }
  }

  private func start(_ id: UInt32, _ deadline: MonotonicInstant, _ request: HTTPRequest) {
    guard let target, let handles else {
      return fail(id, TransportError(.workerFailed, detail: "request before settings"))
    }
    guard transfers[id] == nil else { return }
    // Nothing was tried, so nothing may be said of the network.
    guard MonotonicInstant.now() < deadline else {
      return fail(id, TransportError(.workerFailed, detail: "the worker had no time left"))
    }
    do throws(TransportError) {
      let transfer = try Transfer(request, target, try handles.take(), deadline: deadline, agenda: agenda)
      guard curl_multi_add_handle(multi, transfer.handle.easy) == CURLM_OK else {
        throw TransportError(.workerFailed, detail: "curl_multi_add_handle")
      }
      transfers[id] = transfer
      idsByHandle[transfer.handle.easy] = id
    } catch {
      fail(id, error)
    }
  }

  private func drop(_ id: UInt32) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    idsByHandle[transfer.handle.easy] = nil
    curl_multi_remove_handle(multi, transfer.handle.easy)
  }

  private func fail(_ id: UInt32, _ error: TransportError) { parent.send(.failure(id: id, error)) }

  private func reportFinished() {
    var result = CURLE_OK
    while let easy = iampass_curl_finished(multi, &result) {
      guard let id = idsByHandle[easy], let transfer = transfers[id] else { continue }
      do throws(TransportError) {
        parent.send(.reply(id: id, try transfer.reply(result)))
        drop(id)
        // A request that must not be repeated leaves nothing to the next.
        if transfer.isIdempotent { handles?.giveBack(transfer.handle) }
      } catch {
        fail(id, error)
        drop(id)
      }
    }
  }

  private func reportOverdue(_ now: MonotonicInstant) {
    guard let next = agenda.next, now >= next else { return }
    agenda.next = nil
    for (id, transfer) in transfers {
      if now >= transfer.bound {
        fail(id, transfer.overdue)
        drop(id)
      } else {
        agenda.note(transfer.bound)
      }
    }
  }
}

/// When to look at the bounds of all requests: at the first of them, or earlier, since a request that ended or went on
/// leaves its own behind until then.
final class Agenda {
  var next: MonotonicInstant?

  func note(_ bound: MonotonicInstant) { next = min(next ?? bound, bound) }
}

/// The only service the worker talks to.
struct Target {
  let server: ServerURL
  /// As certificates name it: without brackets, port or final dot.
  let host: String
  let isAddress: Bool
  let settings: WorkerOrigin
  /// The settings' certificates where libcurl reads them, never freed: each handle would take a copy otherwise.
  let authorities: UnsafeMutableRawBufferPointer

  /// Nil where `origin` is no address; the requests are then refused.
  init?(_ settings: WorkerOrigin) {
    guard let server = try? ServerURL(settings.origin) else { return nil }
    self.server = server
    self.settings = settings
    authorities = .allocate(byteCount: settings.authorities.count, alignment: 1)
    authorities.copyBytes(from: settings.authorities)
    let authority = server.origin.drop { $0 != ":" }.dropFirst(3)
    if authority.first == "[" {
      host = String(authority.dropFirst().prefix { $0 != "]" })
    } else {
      let name = authority.prefix { $0 != ":" }
      host = String(name.last == "." ? name.dropLast() : name)
    }
    var address = in6_addr()
    isAddress = inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
  }
}
