import CCurl
import CHost
import CLibcrypto
import Glibc
import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The worker's loop: any number of requests at once over libcurl's connections.
final class Service {
  private let parent: ParentConnection
  private let multi: UnsafeMutableRawPointer
  private let events: SocketEvents
  private let agenda = Agenda()
  private let connector: Connector
  private var target: Target?
  private var handles: HandlePool?
  private var transfers: [UInt32: Transfer] = [:]
  private var idsByHandle: [UnsafeMutableRawPointer: UInt32] = [:]
  private var end: MonotonicInstant?
  /// Each connection's load at the last count, and the time of the next count.
  private var streams = 1
  /// The connections before the last wait's events. libcurl forgets a connection whose replies have all arrived.
  private var connections = 1
  /// Whether the last reply came over HTTP/2.
  private var carriesMany = false
  private var nextCount = MonotonicInstant(nanoseconds: 0)
  private var nextDrive = MonotonicInstant(nanoseconds: 0)

  /// In ms, without requests under way. The parent's next frame, or its end, wakes the loop.
  private static let idle: Int64 = 60_000

  /// In seconds of CPU time, for a worker for one login. Normal is a few hundredths: one that uses more is looping.
  private static let processorTime: UInt = 10

  /// A service must not mistake a host for a crowd of clients.
  private static let mostConnections = 8
  /// In ms. With this many requests at once over HTTP/2, events are handled together, at most this often. Over
  /// HTTP/1.1, connections would be idle in the meantime.
  private static let crowd = 8
  private static let crowdsPause: Int64 = 10
  /// Held requests on one HTTP/2 connection, if the service allows as many.
  private static let mostStreams = 250
  /// In ms, between two counts of the connections' load. A count at each of a thousand replies would be too slow.
  private static let countTime: Int64 = 1_000

  /// Nil if libcurl or its TLS library cannot start.
  ///
  /// - Parameter end: the latest time at which the worker leaves. The settings may name an earlier one.
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
    connector = Connector(events)
  }

  /// Once for a process and all its forks; false if libcurl or OpenSSL cannot start.
  static func loadLibraries() -> Bool {
    // This comes before libcurl, which would start OpenSSL with openssl.cnf.
    iampass_crypto_start() == 1 && curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
  }

  /// Serves until the parent leaves or the worker's time has expired.
  func run() {
    var lastTurn = MonotonicInstant.now()
    while true {
      while let frame = parent.next() { take(frame) }
      events.serveTimer()
      let driven = drive()
      reportFinished()
      let now = MonotonicInstant.now()
      reportOverdue(now)
      // After those that have ended: others may wait for what they were making.
      advanceRace()
      parent.flush()
      if parent.isOver { return }
      if let end, now >= end { return }
      if carriesMany, transfers.count >= Self.crowd {
        let pause = Self.crowdsPause - now.milliseconds(since: lastTurn)
        if pause > 0 { usleep(UInt32(clamping: pause) * 1_000) }
      }
      lastTurn = .now()
      let next = wakeTime(now, driven)
      connections = max(1, events.connectionCount)
      if events.take(until: next, sendsToParent: parent.wantsToSend) { parent.receive() }
    }
  }

  private func wakeTime(_ now: MonotonicInstant, _ driven: MonotonicInstant?) -> MonotonicInstant {
    [agenda.next, driven, connector.wakeTime, end].compactMap(\.self).min() ?? now.advanced(milliseconds: Self.idle)
  }

  /// Drives libcurl while a connection is being made.
  ///
  /// - Returns: when to call this again; nil if no connection is being made.
  private func drive() -> MonotonicInstant? {
    let now = MonotonicInstant.now()
    // Thousands of held requests are not connecting. A new request sets this again.
    guard agenda.mayConnect else { return nil }
    guard agenda.mustDrive || now >= nextDrive else { return nextDrive }
    agenda.mustDrive = false
    let underWay = transfers.values.filter { $0.phase.isUnderWay }
    agenda.mayConnect = !underWay.isEmpty
    guard agenda.mayConnect else { return nil }
    events.drive()
    nextDrive = now.advanced(milliseconds: Transfer.drivingPause)
    // libcurl went on to another address, and does not say so.
    return agenda.mustDrive ? now : nextDrive
  }

  private func take(_ frame: WorkerFrame) {
    switch frame {
    case .settings(let origin):
      // Only once: all connections and handles belong to one service.
      guard target == nil else { return }
      target = Target(origin)
      handles = target.map(HandlePool.init)
      guard origin.lifetime > 0 else { return }
      let own = MonotonicInstant.now().advanced(milliseconds: Int64(origin.lifetime) * 1000)
      end = min(end ?? own, own)
      _ = iampass_limit(Int32(RLIMIT_CPU.rawValue), Self.processorTime)
    case .request(let id, let deadline, let request): start(id, deadline, request)
    case .cancel(let id): drop(id)
    // Only workers send these frames.
    case .reply, .failure, .greeting: break
    }
  }

  private func start(_ id: UInt32, _ deadline: MonotonicInstant, _ request: HTTPRequest) {
    guard let target, let handles else {
      return fail(id, TransportError(.workerFailed, detail: "request before settings"))
    }
    guard transfers[id] == nil else { return }
    // Nothing was sent, so that this must not look like a network failure.
    guard MonotonicInstant.now() < deadline else {
      return fail(id, TransportError(.workerFailed, detail: "the worker had no time left"))
    }
    do throws(TransportError) {
      let transfer = try Transfer(
        request, target, try handles.take(), deadline: deadline, agenda: agenda, connector: connector)
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
    connector.resign(transfer)
  }

  private func fail(_ id: UInt32, _ error: TransportError) { parent.send(.failure(id: id, error)) }

  private func reportFinished() {
    var result = CURLE_OK
    while let easy = iampass_curl_finished(multi, &result) {
      guard let id = idsByHandle[easy], let transfer = transfers[id] else { continue }
      if result != CURLE_OK, hasToConnect(id, transfer) { continue }
      // Not for a request that needs a connection: the present ones are full then, and one more carries less.
      countStreams()
      do throws(TransportError) {
        let reply = try transfer.reply(result, streams: streams)
        carriesMany = reply.isMultiplexed
        parent.send(.reply(id: id, reply))
        drop(id)
        // A failed request leaves no handle to the next one.
        if transfer.isIdempotent { handles?.giveBack(transfer.handle) }
      } catch {
        transfer.distrustAddress()
        end(id, transfer, error)
      }
    }
  }

  /// Takes a request out of libcurl if it needs a connection first. Returns false if it has failed.
  private func hasToConnect(_ id: UInt32, _ transfer: Transfer) -> Bool {
    if transfer.mustWait {
      curl_multi_remove_handle(multi, transfer.handle.easy)
      transfer.beginAgain()
      connector.wait(id)
      return true
    }
    let addresses = transfer.takeAddresses()
    guard !addresses.isEmpty else { return false }
    curl_multi_remove_handle(multi, transfer.handle.easy)
    connector.start(addresses)
    return true
  }

  private func advanceRace() {
    if let outcome = connector.advance(), let leader = connector.leader, let id = idsByHandle[leader.handle.easy] {
      switch outcome {
      case .won: resume(id)
      case .lost(let error): end(id, leader, error)
      }
    }
    for id in connector.takeReady() { resume(id) }
  }

  /// Gives libcurl a request again that was taken out of it.
  private func resume(_ id: UInt32) {
    guard let transfer = transfers[id] else { return }
    guard curl_multi_add_handle(multi, transfer.handle.easy) == CURLM_OK else {
      return end(id, transfer, TransportError(.workerFailed, detail: "curl_multi_add_handle"))
    }
    agenda.mayConnect = true
  }

  /// A request has failed. Those that wait for its connection wanted the same.
  private func end(_ id: UInt32, _ transfer: Transfer, _ error: TransportError) {
    let others = connector.leader === transfer ? connector.takeFollowers() : []
    for one in [id] + others where transfers[one] != nil {
      fail(one, error)
      drop(one)
    }
  }

  /// A login's worker has one connection. A module in memory may be older than this program, and knows only 1.
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
      // Ended together with another one.
      guard transfers[id] != nil else { continue }
      guard now >= transfer.bound else {
        agenda.note(transfer.bound)
        continue
      }
      if transfer.isOver(now) {
        // The others may have more time.
        fail(id, transfer.overdue)
        drop(id)
      } else {
        end(id, transfer, transfer.overdue)
      }
    }
  }
}

extension Service {
  /// Takes a request, and drops it before anything goes out. Swift's runtime makes types, and libcurl its tables, at
  /// their first use. Processes that are forked afterwards do not repeat it.
  static func rehearse() {
    var ends: [Int32] = [-1, -1]
    guard iampass_socket_pair(&ends) == 0 else { return }
    defer { for end in ends { Glibc.close(end) } }
    guard let service = Service(parent: ParentConnection(descriptor: ends[0]), end: nil) else { return }
    defer { service.close() }
    let now = MonotonicInstant.now()
    // Without a lifetime, which would limit this process's own processor time.
    let origin = WorkerOrigin(origin: "https://localhost", userAgent: "-", proxy: "", authorities: [], lifetime: 0)
    let request = HTTPRequest(method: .post, url: "https://localhost/", headers: [("Accept", "-")], body: [0])
    let deadline = now.advanced(milliseconds: idle)
    var frames = FrameBuffer(greatest: FrameBuffer.greatestRequest)
    for frame in [.settings(origin), WorkerFrame.request(id: 1, deadline: deadline, request)] {
      frames.append(frame.encoded())
    }
    while let frame = try? frames.next() { service.take(frame) }
    service.drop(1)
    service.parent.send(.reply(id: 1, HTTPReply(status: 200, headers: request.headers, body: request.body)))
    service.parent.flush()
  }

  private func close() {
    curl_multi_cleanup(multi)
    events.close()
  }
}

/// The time of the next look at all requests' limits: the earliest limit, or sooner. A request that ended or went on
/// leaves its earlier limit here.
final class Agenda {
  var next: MonotonicInstant?
  /// Whether a connection was being made at the last look.
  var mayConnect = false
  /// Whether libcurl has to be driven at once.
  var mustDrive = false

  func note(_ bound: MonotonicInstant) { next = min(next ?? bound, bound) }
}

/// The only service to which the worker connects.
struct Target {
  let server: ServerURL
  /// The name in the certificate: without brackets, port or final dot.
  let host: String
  let isAddress: Bool
  let settings: WorkerOrigin
  /// The settings' certificates in memory that libcurl reads and that is never freed. Otherwise each handle would copy
  /// them.
  let authorities: UnsafeMutableRawBufferPointer

  /// Nil if `origin` is not an address. Its requests are then refused.
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
