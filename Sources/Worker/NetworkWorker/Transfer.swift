import CCurl
import Glibc
import HostSystem
import WorkerLink

/// One request under way in libcurl.
final class Transfer {
  let handle: EasyHandle
  let isIdempotent: Bool
  private let target: Target
  private let deadline: MonotonicInstant
  private let agenda: Agenda
  private var headers: UnsafeMutablePointer<curl_slist>?

  private(set) var phase = Phase.queue
  private var phaseBegan = MonotonicInstant.now()
  private let connector: Connector
  /// What libcurl lists of the host's addresses.
  private var addresses: [HostAddress] = []
  /// The race's winner, which libcurl gets next.
  private var connection: (socket: Int32, address: HostAddress)?
  /// The address of the connection that this request brought about, until the request is sent.
  private var unproven: HostAddress?
  /// Another request makes a connection, and this one has to begin again afterwards.
  private(set) var mustWait = false
  var body: [UInt8] = []
  private var headerBytes = 0
  private var headerLines = 0
  private(set) var isTooLarge = false

  /// How often libcurl began to write the request.
  private(set) var writes = 0

  /// What libcurl is doing.
  enum Phase {
    /// Has no connection: the service's limit of requests is reached, or another request is making the first
    /// connection.
    case queue
    case lookup, connect, handshake, exchange
    /// Is connecting. libcurl 7.88 may wait for nothing in this phase: it prepares an address, and waits for neither a
    /// socket nor a time. The loop therefore drives it.
    var isUnderWay: Bool { self == .lookup || self == .connect || self == .handshake }

    /// In ms; nil: the request's own limit. Together less than the 15 s after which a login gives up. Without a network
    /// the first of them ends a request, within 3 s.
    var longest: Int64? {
      switch self {
      case .lookup: 2700
      // For all addresses together. Two that do not answer have their whole share, further ones less (`AddressRace`).
      case .connect: 2950
      case .handshake: 5000
      case .queue, .exchange: nil
      }
    }
  }

  init(
    _ request: HTTPRequest, _ target: Target, _ handle: EasyHandle, deadline: MonotonicInstant, agenda: Agenda,
    connector: Connector
  ) throws(TransportError) {
    guard let url = try? target.server.ownAddress(request.url) else {
      throw TransportError(.workerFailed, detail: "the request's address is of another origin")
    }
    self.handle = handle
    self.target = target
    self.deadline = deadline
    self.agenda = agenda
    self.connector = connector
    isIdempotent = request.method == .get
    var options = EasyOptions(easy: handle.easy)
    options.send(request, to: url)
    headers = options.headers
    options.report(to: Unmanaged.passUnretained(self).toOpaque())
    try options.mustHaveWorked()
    agenda.note(bound)
  }

  /// When the request must be given up in its present phase.
  var bound: MonotonicInstant {
    guard let longest = phase.longest else { return deadline }
    return min(deadline, phaseBegan.advanced(milliseconds: longest))
  }

  /// Whether the request itself has no time left, rather than its phase.
  func isOver(_ now: MonotonicInstant) -> Bool { now >= deadline }

  /// In ms: while a connection is being made, libcurl is driven at least this often.
  static let drivingPause: Int64 = 100

  deinit {
    // The handle may be used again. Nothing of this request may stay in it.
    EasyOptions(easy: handle.easy).forgetRequest()
    curl_slist_free_all(headers)
    dropConnection()
  }
}

// MARK: libcurl's callbacks

extension Transfer {
  static let greatestBody = 64 * 1024
  static let greatestHeaders = 16 * 1024
  static let mostHeaders = 100

  /// libcurl needs a lookup: it found neither a cached address nor a connection. Returns false to stop it.
  func beganLookup() -> Bool {
    guard connection != nil || mayLead() else { return false }
    enter(.lookup)
    return true
  }

  /// libcurl wants a socket for one of the host's addresses. It gets the race's winner, or none: then it goes on to the
  /// next address, until all are known.
  func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
    if let (socket, winner) = connection {
      connection = nil
      unproven = winner
      if phase != .connect { enter(.connect) }
      connector.resign(self)
      return socket
    }
    // libcurl has its socket, and looks at the other family.
    guard unproven == nil, mayLead() else { return -1 }
    // SAFETY: libcurl says how many bytes the address has.
    let bytes = UnsafeRawBufferPointer(
      start: iampass_curl_address(address), count: Int(address.pointee.addrlen))
    addresses.append(HostAddress(family: address.pointee.family, bytes: Array(bytes)))
    // Without a lookup if libcurl remembers the addresses.
    if !phase.isUnderWay { enter(.connect) }
    agenda.mustDrive = true
    return -1
  }

  private func mayLead() -> Bool {
    mustWait = !connector.mayLead(self)
    return !mustWait
  }

  /// The addresses that libcurl has listed, for a race. Empty: its failure has another cause.
  func takeAddresses() -> [HostAddress] {
    defer { addresses = [] }
    // A request that must not be repeated needs no other connection.
    if writes > 0, !isIdempotent { return [] }
    if !addresses.isEmpty { enter(.connect) }
    return addresses
  }

  /// The race was won. libcurl takes the socket when it runs again.
  func takeConnection(_ socket: Int32, _ address: HostAddress) { connection = (socket, address) }

  /// libcurl found a connection of another request meanwhile.
  private func dropConnection() {
    if let connection { Glibc.close(connection.socket) }
    connection = nil
  }

  /// The request waits for another one's connection, and begins again afterwards.
  func beginAgain() {
    mustWait = false
    enter(.queue)
  }

  /// Its own connection did not come as far as a request.
  func distrustAddress() { if let unproven { connector.disproved(unproven) } }

  /// The TCP connection is made. Returns false if the certificate's check could not be set up.
  func beganHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
    enter(.handshake)
    return iampass_tls_restrict(context, target.host, target.isAddress ? 1 : 0) == 1
  }

  /// libcurl is about to write the request. Returns false to stop it.
  ///
  /// libcurl writes a request again, up to five times, when a kept connection turns out to be dead. The service may
  /// have seen the first copy. A POST is therefore never repeated without the caller's knowledge. Other requests are
  /// repeated once (RFC 9110 §9.2.2).
  func beganExchange() -> Bool {
    defer { enter(.exchange) }
    dropConnection()
    connector.resign(self)
    if let unproven { connector.proved(unproven) }
    unproven = nil
    writes += 1
    return writes <= (isIdempotent ? 2 : 1)
  }

  func take(header: UnsafeRawBufferPointer) -> Bool {
    headerBytes += header.count
    headerLines += 1
    isTooLarge = headerBytes > Self.greatestHeaders || headerLines > Self.mostHeaders
    return !isTooLarge
  }

  func take(body bytes: UnsafeRawBufferPointer) -> Bool {
    isTooLarge = body.count + bytes.count > Self.greatestBody
    if !isTooLarge { body.append(contentsOf: bytes) }
    return !isTooLarge
  }

  private func enter(_ next: Phase) {
    phase = next
    phaseBegan = .now()
    if next.isUnderWay { agenda.mayConnect = true }
    agenda.note(bound)
  }
}
