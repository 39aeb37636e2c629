import CCurl
import WorkerLink

/// All options that libcurl gets for the service and for a request. Everything else is switched off: libcurl's defaults
/// read files, follow the environment and add headers.
struct EasyOptions {
  let easy: UnsafeMutableRawPointer
  /// The first error. An option that libcurl does not know must not be ignored silently.
  private(set) var result = CURLE_OK
  /// The owner of the handle frees it.
  private(set) var headers: UnsafeMutablePointer<curl_slist>?

  init(easy: UnsafeMutableRawPointer) { self.easy = easy }

  private mutating func check(_ code: CURLcode) { if result == CURLE_OK { result = code } }
  private mutating func set(_ option: CURLoption, _ value: Int) { check(iampass_curl_number(easy, option, value)) }
  private mutating func set(_ option: CURLoption, _ value: String?) { check(iampass_curl_text(easy, option, value)) }

  func mustHaveWorked() throws(TransportError) {
    guard result == CURLE_OK else {
      throw TransportError(.workerFailed, detail: String(cString: curl_easy_strerror(result)))
    }
  }

  mutating func limitProtocols(_ target: Target) {
    set(CURLOPT_PROTOCOLS_STR, target.server.isEncrypted ? "https" : "http")
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_USERAGENT, target.settings.userAgent)
    set(CURLOPT_MAXFILESIZE, Transfer.greatestBody)
    // An empty text overrides the environment. A missing one does not.
    set(CURLOPT_PROXY, target.settings.proxy)
    set(CURLOPT_PROXYTYPE, Int(CURLPROXY_HTTP.rawValue))
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Giving up a request would otherwise wait for its thread of the resolver.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_NOSIGNAL, 1)
    // In seconds: libcurl lists the name's addresses, and needs them again as soon as one of them has won
    // (`Connector`). A later connection looks the name up again.
    set(CURLOPT_DNS_CACHE_TIMEOUT, 10)
    // In ms: libcurl lists addresses only, and need not hold back those of the other family.
    set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, 1)
    // libcurl does not connect, and its own time for that would also count while a request waits for a connection.
    // Zero stands for 300 s, longer than any limit of this program.
    set(CURLOPT_CONNECTTIMEOUT_MS, 0)
  }

  mutating func trust(_ target: Target) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    set(CURLOPT_SSL_CIPHER_LIST, "HIGH:!aNULL:!eNULL:!MD5:!3DES")
    // Reading a file of all certificates takes 16 ms, so that the system's folder is used, by name. If the service has
    // certificates of its own, the folder must go: otherwise the system's certificates would also count.
    set(CURLOPT_CAINFO, nil)
    let own = target.authorities
    set(CURLOPT_CAPATH, own.isEmpty ? "/etc/ssl/certs" : nil)
    if !own.isEmpty { check(iampass_curl_bytes(easy, CURLOPT_CAINFO_BLOB, own.baseAddress, own.count)) }
  }

  mutating func keepConnection() {
    // Rather wait for a connection that is being made, and use another of its streams, than make a second connection.
    set(CURLOPT_PIPEWAIT, 1)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    // Less than the 60 s after which home routers forget a connection.
    set(CURLOPT_TCP_KEEPIDLE, 30)
    set(CURLOPT_TCP_KEEPINTVL, 30)
    // A resumed session is not verified again, and its certificate may have expired.
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    // In bytes. Each request under way has these two buffers. The first holds a status and its headers. All requests go
    // through the second, of which libcurl would take four times this least size.
    set(CURLOPT_BUFFERSIZE, 4096)
    set(CURLOPT_UPLOAD_BUFFERSIZE, 16384)
  }

  mutating func send(_ request: HTTPRequest, to url: String) {
    set(CURLOPT_URL, url)
    // In seconds. A POST is not repeated on a new connection, so that it must not use one that has long been idle.
    set(CURLOPT_MAXAGE_CONN, request.method == .get ? 90 : 20)
    switch request.method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .post:
      set(CURLOPT_POST, 1)
      check(iampass_curl_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(request.body.count)))
      // libcurl copies as many bytes as the size that was set before.
      request.body.withUnsafeBytes {
        check(iampass_curl_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress)))
      }
    }
    let given = Set(request.headers.map { $0.name.lowercased() })
    // "Name:" removes libcurl's own header, "Name;" sends an empty one.
    for name in ["Accept", "Content-Type", "Expect"] where !given.contains(name.lowercased()) { append("\(name):") }
    for header in request.headers {
      guard isHeader(header) else { return check(CURLE_BAD_FUNCTION_ARGUMENT) }
      append(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
    }
    check(iampass_curl_list(easy, CURLOPT_HTTPHEADER, headers))
  }

  private mutating func append(_ line: String) {
    guard let longer = curl_slist_append(headers, line) else { return check(CURLE_OUT_OF_MEMORY) }
    headers = longer
  }

  /// A line break in a header would start another header (RFC 9112 §5).
  private func isHeader(_ header: (name: String, value: String)) -> Bool {
    !header.name.isEmpty && header.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A && $0 != 0x3B }
      && header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  /// Removes all pointers to the request.
  func forgetRequest() {
    _ = iampass_curl_list(easy, CURLOPT_HTTPHEADER, nil)
    for option in Self.owners { _ = iampass_curl_pointer(easy, option, nil) }
  }

  /// The object that the callbacks receive.
  mutating func report(to transfer: UnsafeMutableRawPointer) {
    for option in Self.owners { check(iampass_curl_pointer(easy, option, transfer)) }
  }

  private static let owners = [
    CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_SSL_CTX_DATA, CURLOPT_PREREQDATA,
    CURLOPT_RESOLVER_START_DATA,
  ]

  mutating func callBack(message: UnsafeMutablePointer<CChar>) {
    check(iampass_curl_pointer(easy, CURLOPT_ERRORBUFFER, message))
    check(
      iampass_curl_on_bytes(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, owner in
        transferOf(owner).take(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      })
    check(
      iampass_curl_on_bytes(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, owner in
        transferOf(owner).take(header: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      })
    check(
      iampass_curl_on_lookup(easy) { _, _, owner in
        transferOf(owner).beganLookup() ? 0 : 1
      })
    check(
      iampass_curl_on_open(easy) { owner, _, address in
        address.map { transferOf(owner).openSocket(to: $0) } ?? -1
      })
    // libcurl gets connected sockets only.
    check(iampass_curl_on_socket(easy) { _, _, _ in CURL_SOCKOPT_ALREADY_CONNECTED })
    check(
      iampass_curl_on_context(easy) { _, context, owner in
        guard let context, transferOf(owner).beganHandshake(context) else { return CURLE_SSL_CERTPROBLEM }
        return CURLE_OK
      })
    check(
      iampass_curl_on_ready(easy) { owner, _, _, _, _ in
        transferOf(owner).beganExchange() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
  }
}

private func transferOf(_ owner: UnsafeMutableRawPointer?) -> Transfer {
  // SAFETY: the callbacks' owner is the transfer, which also frees the handle. It is alive during each callback.
  Unmanaged<Transfer>.fromOpaque(owner!).takeUnretainedValue()
}
