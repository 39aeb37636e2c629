import HostSystem
import IAMPASSProtocol

/// One HTTP request, ready to send: headers are complete, the address is checked.
///
/// A user's token stands in an address, a session's token in a header. The sender keeps the request until the reply is
/// there, and a service may hold its reply for long. So its texts are kept as a secret, and readable copies are short.
public struct HTTPRequest: Sendable {
  public enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  public let method: Method
  public let body: [UInt8]
  /// The address and then the headers' values, with nothing between them.
  private let texts: Secret
  /// The end of each text, in bytes.
  private let ends: [Int]
  private let names: [String]

  public init(method: Method, url: String, headers: [(name: String, value: String)], body: [UInt8] = []) {
    self.method = method
    self.body = body
    names = headers.map(\.name)
    var bytes = Array(url.utf8)
    var ends = [bytes.count]
    for header in headers {
      bytes += header.value.utf8
      ends.append(bytes.count)
    }
    texts = Secret(bytes: bytes)
    self.ends = ends
  }

  /// An absolute address of the configured service. The caller keeps copies short-lived.
  public var url: String { String(decoding: texts.exposedBytes[..<ends[0]], as: UTF8.self) }

  /// The caller keeps copies short-lived.
  public var headers: [(name: String, value: String)] {
    let bytes = texts.exposedBytes
    return names.indices.map { (names[$0], String(decoding: bytes[ends[$0]..<ends[$0 + 1]], as: UTF8.self)) }
  }
}

/// A complete reply. A ``TransportError`` stands for an incomplete one.
public struct HTTPReply: Sendable {
  public let status: Int
  public let headers: [(name: String, value: String)]
  /// At most 64 KiB.
  public let body: [UInt8]
  /// How many requests each connection was seen to carry at once when the reply arrived, at most 255; 0 over HTTP/1.1.
  public let streams: Int
  /// Whether the reply came over HTTP/2 or later, over which many held requests share a connection.
  public var isMultiplexed: Bool { streams > 0 }

  public init(status: Int, headers: [(name: String, value: String)], body: [UInt8], streams: Int = 0) {
    self.status = status
    self.headers = headers
    self.body = body
    self.streams = streams
  }

  /// The first header of this name, ignoring case (RFC 9110 §5.1).
  public func header(_ name: String) -> String? {
    let lower = name.lowercased()
    return headers.first { $0.name.lowercased() == lower }?.value
  }
}

/// Why a reply is missing.
public struct TransportError: Error, Sendable, Equatable {
  /// The raw values are part of the worker's frames.
  public enum Code: UInt8, Sendable, CaseIterable {
    case nameNotFound = 1
    case nameLookupTimedOut
    case connectionRefused
    case connectTimedOut
    case networkUnreachable
    case tlsTimedOut
    /// The peer closed or refused the connection during the handshake.
    case tlsRefused
    case tlsTooOld
    case certificateExpired
    case certificateNotYetValid
    case certificateForAnotherHost
    case certificateUntrusted
    /// The connection was made, and then nothing came in time.
    case silent
    case connectionLost
    case replyTooLarge
    case notHTTP
    /// The worker could not be started, is unsafe, or left before it was ready.
    case workerFailed
    /// The worker left, was killed, or sent an invalid frame.
    case workerDied
    /// The caller asked to stop.
    case interrupted
  }

  public let code: Code
  /// The system's message for the log; may be empty. It comes from outside: sanitize it before showing it.
  public let detail: String

  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }
}

/// Sends requests to the configured service over one kept connection.
public protocol HTTPTransport: AnyObject {
  /// Sends one request, and returns its whole reply, or throws an error by `deadline`.
  ///
  /// A second call may follow an interrupted one, whose late reply is dropped.
  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply
}
