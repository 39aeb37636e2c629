import CCurl
import IAMPASSClient

/// One of libcurl's handles, told everything but the request.
final class EasyHandle {
  let easy: UnsafeMutableRawPointer
  /// libcurl writes what went wrong here (CURLOPT_ERRORBUFFER).
  let message: UnsafeMutablePointer<CChar>

  init(_ target: Target) throws(TransportError) {
    guard let easy = curl_easy_init() else { throw TransportError(.workerFailed, detail: "curl_easy_init") }
    self.easy = easy
    message = .allocate(capacity: Int(CURL_ERROR_SIZE))
    message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    var options = EasyOptions(easy: easy)
    options.limitProtocols(target)
    options.trust(target)
    options.keepConnection()
    options.callBack(message: message)
    try options.mustHaveWorked()
  }

  /// What libcurl said of a failure.
  var detail: String {
    // SAFETY: the buffer was zeroed, and libcurl ends what it writes there with a zero.
    String(cString: message)
  }

  deinit {
    curl_easy_cleanup(easy)
    message.deallocate()
  }
}

/// Handles whose last request went well, for the next: making one costs more than a small request does.
final class HandlePool {
  private let target: Target
  private var handles: [EasyHandle] = []

  /// Two hundred polls a second have fewer under way; held requests need none for a minute.
  private static let most = 32

  init(_ target: Target) { self.target = target }

  func take() throws(TransportError) -> EasyHandle {
    if let handle = handles.popLast() { return handle }
    return try EasyHandle(target)
  }

  func giveBack(_ handle: EasyHandle) { if handles.count < Self.most { handles.append(handle) } }
}
