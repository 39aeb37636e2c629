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
  private(set) var body: [UInt8] = []
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

    /// In ms; nil: the request's own time. Together under the 15 s after which a login gives the service up.
    var longest: Int64? {
      switch self {
      case .lookup: 4000
      case .connect: 3000
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
    return min(deadline, phaseBegan.advanced(milliseconds: longest))
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
  func beganLookup() { enter(.lookup) }

  /// A socket to one of the host's addresses: the lookup is over.
  func beganToConnect() { if phase != .connect { enter(.connect) } }

  /// A TCP connection is there. False: the certificate's check could not be set up.
  func beganHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
    enter(.handshake)
    return iampass_tls_restrict(context, target.host, target.isAddress ? 1 : 0) == 1
  }

  /// The request is about to be written. False: do not.
  ///
  /// libcurl writes a request again, up to five times, when a kept connection turns out dead; the next may be a kept
  /// one too. The service may have seen the first: a POST is not repeated behind the caller's back, and what is
  /// repeated without being asked for is repeated once (RFC 9110, §9.2.2).
  func beganExchange() -> Bool {
    defer { enter(.exchange) }
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
    agenda.note(bound)
  }
}
