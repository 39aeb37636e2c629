import CCurl
import IAMPASSClient

/// Everything libcurl is told, of the service and of a request. What is not asked for here is off: libcurl's defaults read files,
/// follow the environment and add headers.
struct EasyOptions {
  let easy: UnsafeMutableRawPointer
  /// The first refusal; an option that libcurl does not know must not be lost in silence.
  private(set) var result = CURLE_OK
  /// Belongs to whoever frees the handle.
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
    // An empty text, unlike none, means: whatever the environment says.
    set(CURLOPT_PROXY, target.settings.proxy)
    set(CURLOPT_PROXYTYPE, Int(CURLPROXY_HTTP.rawValue))
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A thread of the resolver would otherwise be waited for when its request is given up.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_NOSIGNAL, 1)
    // Each connection begins with a lookup, since that is where its time begins (`Transfer.beganLookup`).
    set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
  }

  mutating func trust(_ target: Target) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    set(CURLOPT_SSL_CIPHER_LIST, "HIGH:!aNULL:!eNULL:!MD5:!3DES")
    // A file of all certificates takes 16 ms to read; the folder is read by name. With certificates of its own the
    // folder must go, else those of the system count too.
    set(CURLOPT_CAINFO, nil)
    let own = target.authorities
    set(CURLOPT_CAPATH, own.isEmpty ? "/etc/ssl/certs" : nil)
    if !own.isEmpty { check(iampass_curl_bytes(easy, CURLOPT_CAINFO_BLOB, own.baseAddress, own.count)) }
  }

  mutating func keepConnection() {
    // Rather another stream of a connection that is being made than another connection.
    set(CURLOPT_PIPEWAIT, 1)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    // Under the 60 s after which home routers forget a connection.
    set(CURLOPT_TCP_KEEPIDLE, 30)
    set(CURLOPT_TCP_KEEPINTVL, 30)
    // A session that is taken up again was verified by an earlier connection; certificates end.
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    // Each request under way has these two to itself. A status and its headers fit into the first; libcurl's least
    // for the second, through which every request goes, is a quarter of what it would take. Bytes.
    set(CURLOPT_BUFFERSIZE, 4096)
    set(CURLOPT_UPLOAD_BUFFERSIZE, 16384)
  }

  /// How long libcurl may take to connect, from where it set out for a connection; it shares that out among the host's
  /// addresses. What waits for another request's connection is not to be given up by it, so it is set on the way only.
  func allow(milliseconds: Int64) {
    _ = iampass_curl_number(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, milliseconds)))
  }

  /// Zero is libcurl's 300 s, beyond all bounds of this program.
  func allowAnyTime() { _ = iampass_curl_number(easy, CURLOPT_CONNECTTIMEOUT_MS, 0) }

  mutating func send(_ request: HTTPRequest, to url: String) {
    set(CURLOPT_URL, url)
    allowAnyTime()
    // A POST is not repeated on a fresh connection, so it does not gamble on one that has long been idle. Seconds.
    set(CURLOPT_MAXAGE_CONN, request.method == .get ? 90 : 20)
    switch request.method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .post:
      set(CURLOPT_POST, 1)
      check(iampass_curl_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(request.body.count)))
      // libcurl copies the size set before.
      request.body.withUnsafeBytes {
        check(iampass_curl_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress)))
      }
    }
    let given = Set(request.headers.map { $0.name.lowercased() })
    // "Name:" takes libcurl's own header away, "Name;" sends an empty one.
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

  /// A line break in a header would start another (RFC 9112 §5).
  private func isHeader(_ header: (name: String, value: String)) -> Bool {
    !header.name.isEmpty && header.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A && $0 != 0x3B }
      && header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  /// Nothing points to the request any more.
  func forgetRequest() {
    _ = iampass_curl_list(easy, CURLOPT_HTTPHEADER, nil)
    for option in Self.owners { _ = iampass_curl_pointer(easy, option, nil) }
  }

  /// Whom the callbacks are about.
  mutating func report(to transfer: UnsafeMutableRawPointer) {
    for option in Self.owners { check(iampass_curl_pointer(easy, option, transfer)) }
  }

  private static let owners = [
    CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_SOCKOPTDATA, CURLOPT_SSL_CTX_DATA, CURLOPT_PREREQDATA,
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
        transferOf(owner).beganLookup()
        return 0
      })
    check(
      iampass_curl_on_socket(easy) { owner, _, _ in
        transferOf(owner).beganToConnect()
        return CURL_SOCKOPT_OK
      })
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
  // SAFETY: the owner of a handle's callbacks is the transfer that frees the handle, so it is alive in each of them.
  Unmanaged<Transfer>.fromOpaque(owner!).takeUnretainedValue()
}
