import CCurl
import CHost
import Glibc
import IAMPASSClient
import IAMPASSProtocol

/// The worker's loop: any number of requests at once over libcurl's connections.
final class Service {
  private let parent: ParentConnection
  private let multi: UnsafeMutableRawPointer
  private var target: Target?
  private var transfers: [UInt32: Transfer] = [:]
  private var idsByHandle: [UnsafeMutableRawPointer: UInt32] = [:]
  private var end: MonotonicInstant?

  /// Waits before a request is written are cut into these, in ms: libcurl tells of a finished lookup or handshake only
  /// when asked.
  private static let tick: Int64 = 100
  /// Nothing is under way: the parent's next frame, or its end, wakes the loop.
  private static let idle: Int64 = 60_000

  /// Of a worker for one login, in s. One that uses more than a few hundredths is looping.
  private static let processorTime: UInt = 10

  /// A service is not to see a host as a crowd.
  private static let mostConnections = 8
  /// Held requests on one connection of HTTP/2, where the service allows as many.
  private static let mostStreams = 250

  /// Nil where libcurl or its TLS library cannot start.
  init?(parent: ParentConnection) {
    guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init(),
      iampass_curl_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.mostConnections) == CURLM_OK,
      iampass_curl_multi_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.mostStreams) == CURLM_OK
    else { return nil }
    self.parent = parent
    self.multi = multi
  }

  /// Serves until the parent leaves or the worker's time is over.
  func run() {
    while true {
      while let frame = parent.next() { take(frame) }
      if parent.isOver { return }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      reportFinished()
      let now = MonotonicInstant.now()
      reportOverdue(now)
      if let end, now >= end { return }
      wait(now)
    }
  }

  private func take(_ frame: WorkerFrame) {
    switch frame {
    case .settings(let origin):
      target = Target(origin)
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
    guard let target else { return fail(id, TransportError(.workerFailed, detail: "request before settings")) }
    guard transfers[id] == nil else { return }
    // Nothing was tried, so nothing may be said of the network.
    guard MonotonicInstant.now() < deadline else {
      return fail(id, TransportError(.workerFailed, detail: "the worker had no time left"))
    }
    do throws(TransportError) {
      let transfer = try Transfer(request, target, deadline: deadline)
      guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
        throw TransportError(.workerFailed, detail: "curl_multi_add_handle")
      }
      transfers[id] = transfer
      idsByHandle[transfer.easy] = id
    } catch {
      fail(id, error)
    }
  }

  private func drop(_ id: UInt32) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    idsByHandle[transfer.easy] = nil
    curl_multi_remove_handle(multi, transfer.easy)
  }

  private func fail(_ id: UInt32, _ error: TransportError) { parent.send(.failure(id: id, error)) }

  private func reportFinished() {
    var result = CURLE_OK
    while let easy = iampass_curl_finished(multi, &result) {
      guard let id = idsByHandle[easy], let transfer = transfers[id] else { continue }
      do throws(TransportError) {
        parent.send(.reply(id: id, try transfer.reply(result)))
      } catch {
        fail(id, error)
      }
      drop(id)
    }
  }

  private func reportOverdue(_ now: MonotonicInstant) {
    for (id, transfer) in transfers where now >= transfer.bound {
      fail(id, transfer.overdue)
      drop(id)
    }
  }

  private func wait(_ now: MonotonicInstant) {
    var events = CURL_WAIT_POLLIN
    if parent.wantsToSend { events |= CURL_WAIT_POLLOUT }
    var entry = curl_waitfd(fd: parent.descriptor, events: Int16(events), revents: 0)
    let bounds = transfers.values.map(\.bound) + (end.map { [$0] } ?? [])
    let next = bounds.min()?.milliseconds(since: now) ?? Self.idle
    let longest = transfers.values.allSatisfy { $0.phase == .exchange } ? Self.idle : Self.tick
    curl_multi_poll(multi, &entry, 1, Int32(clamping: max(0, min(next, longest))), nil)
    if parent.wantsToSend { parent.flush() }
  }
}

/// The only service the worker talks to.
struct Target {
  let server: ServerURL
  /// As certificates name it: without brackets, port or final dot.
  let host: String
  let isAddress: Bool
  let settings: WorkerOrigin

  /// Nil where `origin` is no address; the requests are then refused.
  init?(_ settings: WorkerOrigin) {
    guard let server = try? ServerURL(settings.origin) else { return nil }
    self.server = server
    self.settings = settings
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
