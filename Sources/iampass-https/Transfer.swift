import CCurl
import IAMPASSClient

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
  /// When libcurl set out for a connection, from which it counts; and for the last of the host's addresses.
  private var journeyBegan = MonotonicInstant.now()
  private var addressBegan = MonotonicInstant.now()
  var body: [UInt8] = []
  private var headerBytes = 0
  private var headerLines = 0
  private(set) var isTooLarge = false

  /// How often libcurl set out to write the request.
  private var writes = 0

  /// What libcurl is doing.
  enum Phase {
    /// Without a connection: as many requests are under way as the service allows, or the first connection is being
    /// made by another request.
    case queue
    case lookup, connect, handshake, exchange
    /// On the way to a connection, where libcurl 7.88 may wait for nothing: it is driven then.
    var isUnderWay: Bool { self == .lookup || self == .connect || self == .handshake }

    /// In ms; nil: the request's own time. Together under the 15 s after which a login gives the service up.
    var longest: Int64? {
      switch self {
      case .lookup: 4000
      // Of all addresses together; see `longestAddress`.
      case .connect: 5500
      case .handshake: 5000
      case .queue, .exchange: nil
      }
    }
  }

  init(
    _ request: HTTPRequest, _ target: Target, _ handle: EasyHandle, deadline: MonotonicInstant, agenda: Agenda
  ) throws(TransportError) {
    guard let url = try? target.server.ownAddress(request.url) else {
      throw TransportError(.workerFailed, detail: "the request's address is of another origin")
    }
    self.handle = handle
    self.target = target
    self.deadline = deadline
    self.agenda = agenda
    isIdempotent = request.method == .get
    var options = EasyOptions(easy: handle.easy)
    options.send(request, to: url)
    headers = options.headers
    options.report(to: Unmanaged.passUnretained(self).toOpaque())
    try options.mustHaveWorked()
    agenda.note(bound)
  }

  /// When the request is to be given up, as things stand.
  var bound: MonotonicInstant {
    guard let longest = phase.longest else { return deadline }
    let usual = min(deadline, phaseBegan.advanced(milliseconds: longest))
    return phase == .connect ? min(usual, addressBegan.advanced(milliseconds: Self.longestAddress)) : usual
  }

  /// For the last of the host's addresses, in ms: a lost packet is sent again after 1 s. libcurl gives each of the others
  /// half of what is left of its own time, which is kept so that this is `share` at least.
  private static let longestAddress: Int64 = 3_000
  private static let share: Int64 = longestAddress / 2
  /// How often a lookup's transfer is told what time it has for connecting afterwards, at least, in ms.
  static let drivingPause: Int64 = 100

  /// Keeps libcurl's time for connecting as it should be when the lookup ends.
  func keepTime(_ now: MonotonicInstant) {
    guard phase == .lookup else { return }
    allow(Self.longestAddress + Self.drivingPause, from: now)
  }

  /// - Parameter milliseconds: what libcurl has from `now` on to connect.
  private func allow(_ milliseconds: Int64, from now: MonotonicInstant) {
    EasyOptions(easy: handle.easy).allow(milliseconds: now.milliseconds(since: journeyBegan) + milliseconds)
  }

  deinit {
    // The handle may go on; what it was told of this request does not.
    EasyOptions(easy: handle.easy).forgetRequest()
    curl_slist_free_all(headers)
  }
}

// MARK: What libcurl tells

extension Transfer {
  static let greatestBody = 64 * 1024
  static let greatestHeaders = 16 * 1024
  static let mostHeaders = 100

  /// Neither the cache of names nor a connection had what the request needs.
  func beganLookup() {
    enter(.lookup)
    journeyBegan = phaseBegan
    keepTime(phaseBegan)
  }

  /// A socket to one of the host's addresses: the lookup is over.
  func beganToConnect() {
    if phase != .connect { enter(.connect) }
    addressBegan = .now()
    agenda.note(bound)
    // The next one is begun after this one's share at the latest, and its own share is counted then.
    allow(Self.longestAddress + Self.share, from: addressBegan)
  }

  /// A TCP connection is there. False: the certificate's check could not be set up.
  func beganHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
    enter(.handshake)
    // From here on the phase's own bound counts.
    EasyOptions(easy: handle.easy).allowAnyTime()
    return iampass_tls_restrict(context, target.host, target.isAddress ? 1 : 0) == 1
  }

  /// The request is about to be written. False: do not.
  ///
  /// libcurl writes a request again, up to five times, when a kept connection turns out dead; the next may be a kept
  /// one too. The service may have seen the first: a POST is not repeated behind the caller's back, and what is
  /// repeated without being asked for is repeated once (RFC 9110, §9.2.2).
  func beganExchange() -> Bool {
    defer { enter(.exchange) }
    EasyOptions(easy: handle.easy).allowAnyTime()
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
