import CCurl
import IAMPASSClient

/// One request under way in libcurl.
final class Transfer {
  let easy: UnsafeMutableRawPointer
  private let target: Target
  private let request: HTTPRequest
  private let deadline: MonotonicInstant
  private var headers: UnsafeMutablePointer<curl_slist>?
  /// libcurl writes what went wrong here (CURLOPT_ERRORBUFFER).
  let message: UnsafeMutablePointer<CChar>

  private(set) var phase = Phase.lookup
  private var phaseBegan = MonotonicInstant.now()
  private(set) var body: [UInt8] = []
  private var headerBytes = 0
  private var headerLines = 0
  private(set) var isTooLarge = false

  /// How often libcurl set out to write the request.
  private var writes = 0

  /// What libcurl is doing.
  enum Phase {
    case lookup, connect, handshake, exchange

    /// In ms; nil: the request's own time. Together under the 15 s after which a login gives the service up.
    var longest: Int64? {
      switch self {
      case .lookup: 4000
      case .connect: 3000
      case .handshake: 5000
      case .exchange: nil
      }
    }
  }

  init(_ request: HTTPRequest, _ target: Target, deadline: MonotonicInstant) throws(TransportError) {
    guard let url = try? target.server.ownAddress(request.url) else {
      throw TransportError(.workerFailed, detail: "the request's address is of another origin")
    }
    guard let easy = curl_easy_init() else { throw TransportError(.workerFailed, detail: "curl_easy_init") }
    self.easy = easy
    self.request = request
    self.target = target
    self.deadline = deadline
    message = .allocate(capacity: Int(CURL_ERROR_SIZE))
    message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    var options = EasyOptions(easy: easy)
    options.limitProtocols(target)
    options.trust(target)
    options.keepConnection(idempotent: request.method == .get)
    options.send(request, to: url, userAgent: target.settings.userAgent)
    headers = options.headers
    options.report(to: Unmanaged.passUnretained(self).toOpaque(), message: message)
    guard options.result == CURLE_OK else {
      throw TransportError(.workerFailed, detail: String(cString: curl_easy_strerror(options.result)))
    }
  }

  /// When the request is to be given up, as things stand.
  var bound: MonotonicInstant {
    guard let longest = phase.longest else { return deadline }
    return min(deadline, phaseBegan.advanced(milliseconds: longest))
  }

  /// What libcurl said of a failure.
  var detail: String {
    // SAFETY: the buffer was zeroed, and libcurl ends what it writes there with a zero.
    String(cString: message)
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headers)
    message.deallocate()
  }
}

// MARK: What libcurl tells

extension Transfer {
  static let greatestBody = 64 * 1024
  static let greatestHeaders = 16 * 1024
  static let mostHeaders = 100

  /// A socket to one of the host's addresses: the lookup is over.
  func beganToConnect() { if phase != .connect { enter(.connect) } }

  /// A TCP connection is there. False: the certificate's check could not be set up.
  func beganHandshake(_ context: UnsafeMutableRawPointer) -> Bool {
    enter(.handshake)
    return iampass_tls_restrict(context, target.host, target.isAddress ? 1 : 0) == 1
  }

  /// The request is about to be written. False: do not.
  ///
  /// libcurl writes a request again on a fresh connection when a kept one turns out dead. The service may have seen
  /// the first: a POST is not repeated behind the caller's back.
  func beganExchange() -> Bool {
    defer { enter(.exchange) }
    writes += 1
    return writes == 1 || request.method == .get
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
  }
}
