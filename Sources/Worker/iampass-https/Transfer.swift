import CCurl
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
  /// When libcurl began to connect, and when it began with the last of the host's addresses.
  private var journeyBegan = MonotonicInstant.now()
  private var addressBegan = MonotonicInstant.now()
  var body: [UInt8] = []
  private var headerBytes = 0
  private var headerLines = 0
  private(set) var isTooLarge = false

  /// How often libcurl began to write the request.
  private var writes = 0

  /// What libcurl is doing.
  enum Phase {
    /// Has no connection: the service's limit of requests is reached, or another request is making the first
    /// connection.
    case queue
    case lookup, connect, handshake, exchange
    /// Is connecting. libcurl 7.88 may wait for nothing in this phase, so that the loop drives it.
    var isUnderWay: Bool { self == .lookup || self == .connect || self == .handshake }

    /// In ms; nil: the request's own limit. Together less than the 15 s after which a login gives up.
    var longest: Int64? {
      switch self {
      case .lookup: 4000
      // For all addresses together, see `longestAddress`.
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

  /// When the request must be given up in its present phase.
  var bound: MonotonicInstant {
    guard let longest = phase.longest else { return deadline }
    let usual = min(deadline, phaseBegan.advanced(milliseconds: longest))
    return phase == .connect ? min(usual, addressBegan.advanced(milliseconds: Self.longestAddress)) : usual
  }

  /// In ms, for the last of the host's addresses: a lost packet is sent again after 1 s. libcurl gives each other
  /// address half of its remaining time. The remaining time is kept so that this is at least `share`.
  private static let longestAddress: Int64 = 3_000
  private static let share: Int64 = longestAddress / 2
  /// In ms: a lookup's transfer is told its time for connecting at least this often.
  static let drivingPause: Int64 = 100

  /// Keeps libcurl's time for connecting right until the lookup ends.
  func keepTime(_ now: MonotonicInstant) {
    guard phase == .lookup else { return }
    allow(Self.longestAddress + Self.drivingPause, from: now)
  }

  /// - Parameter milliseconds: the time from `now` that libcurl has to connect.
  private func allow(_ milliseconds: Int64, from now: MonotonicInstant) {
    EasyOptions(easy: handle.easy).allow(milliseconds: now.milliseconds(since: journeyBegan) + milliseconds)
  }

  deinit {
    // The handle may be used again. Nothing of this request may stay in it.
    EasyOptions(easy: handle.easy).forgetRequest()
    curl_slist_free_all(headers)
  }
}

// MARK: libcurl's callbacks

extension Transfer {
  static let greatestBody = 64 * 1024
  static let greatestHeaders = 16 * 1024
  static let mostHeaders = 100

  /// libcurl needs a lookup: it found neither a cached address nor a connection.
  func beganLookup() {
    enter(.lookup)
    journeyBegan = phaseBegan
    keepTime(phaseBegan)
  }

  /// libcurl opened a socket to one of the host's addresses: the lookup has ended.
  func beganToConnect() {
    if phase != .connect { enter(.connect) }
    addressBegan = .now()
    agenda.note(bound)
    // The next address begins after this one's share at the latest, and its own share counts from then.
    allow(Self.longestAddress + Self.share, from: addressBegan)
  }

  /// The TCP connection is made. Returns false if the certificate's check could not be set up.
  func beganHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
    enter(.handshake)
    // From here the phase's own limit counts.
    EasyOptions(easy: handle.easy).allowAnyTime()
    return iampass_tls_restrict(context, target.host, target.isAddress ? 1 : 0) == 1
  }

  /// libcurl is about to write the request. Returns false to stop it.
  ///
  /// libcurl writes a request again, up to five times, when a kept connection turns out to be dead. The service may
  /// have seen the first copy. A POST is therefore never repeated without the caller's knowledge. Other requests are
  /// repeated once (RFC 9110 §9.2.2).
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
