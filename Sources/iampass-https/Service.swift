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
  /// What each connection was last seen to carry, and when to look again.
  private var streams = 1
  /// Connections before what the last wait brought: libcurl lets go of one whose replies have all come.
  private var connections = 1
  /// The last reply came over HTTP/2.
  private var carriesMany = false
  private var nextCount = MonotonicInstant(nanoseconds: 0)
  private var nextDrive = MonotonicInstant(nanoseconds: 0)

  /// Nothing is under way: the parent's next frame, or its end, wakes the loop. In ms.
  private static let idle: Int64 = 60_000

  /// Of a worker for one login, in s. One that uses more than a few hundredths is looping.
  private static let processorTime: UInt = 10

  /// A service is not to see a host as a crowd.
  private static let mostConnections = 8
  /// With so many requests at once over HTTP/2, what comes is taken together, at most this often, in ms. Over HTTP/1.1
  /// connections would stand idle meanwhile.
  private static let crowd = 8
  private static let crowdsPause: Int64 = 10
  /// Held requests on one connection of HTTP/2, where the service allows as many.
  private static let mostStreams = 250
  /// Between two counts of what connections carry, in ms: with a thousand requests it is not done at each reply.
  private static let countTime: Int64 = 1_000

  /// Nil where libcurl or its TLS library cannot start.
  ///
  /// - Parameter end: when the worker leaves at the latest, if the settings do not say something earlier.
  init?(parent: ParentConnection, end: MonotonicInstant?) {
    guard Self.loadLibraries(), let multi = curl_multi_init(),
      iampass_curl_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.mostConnections) == CURLM_OK,
      iampass_curl_multi_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.mostStreams) == CURLM_OK,
      let events = SocketEvents(multi: multi, parent: parent.descriptor)
    else { return nil }
    self.parent = parent
    self.end = end
    self.multi = multi
    self.events = events
  }

  /// Once for a process and those that are forked from it; false where they cannot start.
  static func loadLibraries() -> Bool {
    // Before libcurl starts OpenSSL with openssl.cnf.
    iampass_crypto_start() == 1 && curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
  }

  /// Serves until the parent leaves or the worker's time is over.
  func run() {
    var lastTurn = MonotonicInstant.now()
    while true {
      while let frame = parent.next() { take(frame) }
      events.serveTimer()
      let driven = drive()
      reportFinished()
      let now = MonotonicInstant.now()
      reportOverdue(now)
      parent.flush()
      if parent.isOver { return }
      if let end, now >= end { return }
      if carriesMany, transfers.count >= Self.crowd {
        let pause = Self.crowdsPause - now.milliseconds(since: lastTurn)
        if pause > 0 { usleep(UInt32(clamping: pause) * 1_000) }
      }
      lastTurn = .now()
      let next = [agenda.next, driven, end].compactMap(\.self).min() ?? now.advanced(milliseconds: Self.idle)
      connections = max(1, events.connectionCount)
      if events.take(until: next, sendsToParent: parent.wantsToSend) { parent.receive() }
    }
  }

  /// While a connection is being made.
  ///
  /// - Returns: when to do it again; nil: no connection is being made.
  private func drive() -> MonotonicInstant? {
    let now = MonotonicInstant.now()
    // Held requests by the thousand are on no way; a new one notes it here.
    guard agenda.mayConnect else { return nil }
    guard now >= nextDrive else { return nextDrive }
    let underWay = transfers.values.filter { $0.phase.isUnderWay }
    agenda.mayConnect = !underWay.isEmpty
    guard agenda.mayConnect else { return nil }
    for transfer in underWay { transfer.keepTime(now) }
    events.drive()
    nextDrive = now.advanced(milliseconds: Transfer.drivingPause)
    return nextDrive
  }

  private func take(_ frame: WorkerFrame) {
    switch frame {
    case .settings(let origin):
      // Once: connections and handles are of one service.
      guard target == nil else { return }
      target = Target(origin)
      handles = target.map(HandlePool.init)
      guard origin.lifetime > 0 else { return }
      let own = MonotonicInstant.now().advanced(milliseconds: Int64(origin.lifetime) * 1000)
      end = min(end ?? own, own)
      _ = iampass_limit(Int32(RLIMIT_CPU.rawValue), Self.processorTime)
    case .request(let id, let deadline, let request): start(id, deadline, request)
    case .cancel(let id): drop(id)
    // Only workers write these.
    case .reply, .failure, .greeting: break
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
      countStreams()
      guard let id = idsByHandle[easy], let transfer = transfers[id] else { continue }
      do throws(TransportError) {
        let reply = try transfer.reply(result, streams: streams)
        carriesMany = reply.isMultiplexed
        parent.send(.reply(id: id, reply))
        drop(id)
        // A request that must not be repeated leaves nothing to the next.
        if transfer.isIdempotent { handles?.giveBack(transfer.handle) }
      } catch {
        fail(id, error)
        drop(id)
      }
    }
  }

  /// A login's worker has one connection, and a module in memory may be older than this program: it knows 1 alone.
  private func countStreams() {
    let now = MonotonicInstant.now()
    guard end == nil, now >= nextCount else { return }
    nextCount = now.advanced(milliseconds: Self.countTime)
    let carried = transfers.values.count { $0.phase == .exchange }
    streams = max(1, carried / connections)
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
  /// A connection is being made, or was when this was looked at last.
  var mayConnect = false

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
