import CCurl
import CHost
import WorkerLink

/// How a transfer ended, in the module's terms.
extension Transfer {
  /// The complete reply, or why it is missing.
  ///
  /// - Parameter streams: the number of requests that an HTTP/2 connection carries at once.
  func reply(_ result: CURLcode, streams: Int) throws(TransportError) -> HTTPReply {
    guard result == CURLE_OK else {
      let error = TransportError(code(of: result), detail: handle.detail)
      throw Confinement.hasLowLimits ? error.underLowLimits : error
    }
    let status = iampass_curl_info(handle.easy, CURLINFO_RESPONSE_CODE)
    guard (200...999).contains(status) else { throw TransportError(.notHTTP, detail: "status \(status)") }
    let headers = replyHeaders()
    let framing = ReplyFraming(headers, status: status, isMultiplexed: isMultiplexed)
    switch framing {
    case .length(let length) where length != body.count:
      throw TransportError(.connectionLost, detail: "\(body.count) bytes of \(length) came")
    case .ambiguous: throw TransportError(.notHTTP, detail: "the reply's length is ambiguous")
    // A proxy refuses like this. Its status matters, and the end of its text may be missing.
    case .none where status >= 300: body = []
    case .none: throw TransportError(.connectionLost, detail: "the reply has no length")
    case .length, .marked: break
    }
    return HTTPReply(status: status, headers: headers, body: body, streams: isMultiplexed ? streams : 0)
  }

  private var isMultiplexed: Bool { iampass_curl_info(handle.easy, CURLINFO_HTTP_VERSION) > Int(CURL_HTTP_VERSION_1_1) }

  /// The current phase has used up its time.
  var overdue: TransportError {
    switch phase {
    case .queue: TransportError(.silent, detail: "no connection was free")
    case .lookup: TransportError(.nameLookupTimedOut)
    case .connect: TransportError(.connectTimedOut)
    case .handshake: TransportError(.tlsTimedOut)
    case .exchange: TransportError(.silent)
    }
  }

  /// The headers of the final reply only. libcurl keeps trailers and interim replies apart.
  private func replyHeaders() -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    var last: UnsafeMutablePointer<curl_header>?
    while let header = curl_easy_nextheader(handle.easy, UInt32(CURLH_HEADER), -1, last) {
      // SAFETY: libcurl keeps a header's texts until the handle's next transfer.
      headers.append((name: String(cString: header.pointee.name), value: String(cString: header.pointee.value)))
      last = header
    }
    return headers
  }

  private func code(of result: CURLcode) -> TransportError.Code {
    if isTooLarge { return .replyTooLarge }
    switch result {
    // A missing thread for the lookup is a limit of this computer. A caller of sudo can cause that, so that it is not
    // an outage.
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return strstr(handle.message, "thread failed to start") == nil ? .nameNotFound : .workerFailed
    // The first copy of such a request may have arrived.
    case CURLE_COULDNT_CONNECT where writes > 0 && !isIdempotent: return .connectionLost
    case CURLE_COULDNT_CONNECT:
      return TransportError.Code(connectError: Int32(iampass_curl_info(handle.easy, CURLINFO_OS_ERRNO)))
    case CURLE_PEER_FAILED_VERIFICATION: return certificateFault()
    case CURLE_FILESIZE_EXCEEDED: return .replyTooLarge
    // A single header line was longer than libcurl allows.
    case CURLE_OUT_OF_MEMORY where phase == .exchange: return .replyTooLarge
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: return phase == .exchange ? .notHTTP : .workerFailed
    case CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
      CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_ABORTED_BY_CALLBACK, CURLE_PROXY:
      return lost()
    case CURLE_OPERATION_TIMEDOUT: return overdue.code
    // The worker's own settings, certificates or memory failed.
    default: return .workerFailed
    }
  }

  private func lost() -> TransportError.Code {
    switch phase {
    case .queue: .connectionLost
    case .lookup: .nameLookupTimedOut
    // A proxy refused the connection.
    case .connect: .connectionRefused
    case .handshake: isTooOld() ? .tlsTooOld : .tlsRefused
    case .exchange: .connectionLost
    }
  }

  /// OpenSSL's refusal of an outdated peer, and the alerts of a peer that offers only refused versions. libcurl reports
  /// no code for these, only OpenSSL's text.
  private func isTooOld() -> Bool {
    let signs = [
      "unsupported protocol", "protocol version", "handshake failure", "insufficient security", "dh key too small",
    ]
    return signs.contains { sign in strstr(handle.message, sign) != nil }
  }

  /// Codes of X509_V_ERR in x509_vfy.h.
  private func certificateFault() -> TransportError.Code {
    switch Int32(iampass_curl_info(handle.easy, CURLINFO_SSL_VERIFYRESULT)) {
    case X509_V_ERR_CERT_HAS_EXPIRED: .certificateExpired
    case X509_V_ERR_CERT_NOT_YET_VALID: .certificateNotYetValid
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .certificateForAnotherHost
    default: .certificateUntrusted
    }
  }
}
