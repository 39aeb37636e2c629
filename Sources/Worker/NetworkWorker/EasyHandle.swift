import CCurl
import WorkerLink

/// One of libcurl's handles with all options except the request.
final class EasyHandle {
  let easy: UnsafeMutableRawPointer
  /// libcurl writes its error message here (CURLOPT_ERRORBUFFER).
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

  /// libcurl's message for a failure.
  var detail: String {
    // SAFETY: the buffer was zeroed, and libcurl ends its message with a zero.
    String(cString: message)
  }

  deinit {
    curl_easy_cleanup(easy)
    message.deallocate()
  }
}

/// Handles whose last request succeeded, for reuse: a new handle costs more than a small request.
final class HandlePool {
  private let target: Target
  private var handles: [EasyHandle] = []

  /// Two hundred polls a second use fewer at a time. Held requests need a handle only once a minute.
  private static let most = 32

  init(_ target: Target) { self.target = target }

  func take() throws(TransportError) -> EasyHandle {
    if let handle = handles.popLast() { return handle }
    return try EasyHandle(target)
  }

  func giveBack(_ handle: EasyHandle) { if handles.count < Self.most { handles.append(handle) } }
}
