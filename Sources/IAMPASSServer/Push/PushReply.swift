import IAMPASSProtocol
import NIOHTTP1

/// What a push service answered.
struct PushReply: Sendable, Equatable {
  let status: Int
  /// Seconds until the service wants to be asked again; nil if it does not say, or not in a valid form.
  let retryAfter: Int64?

  init(status: Int, retryAfter: Int64? = nil) {
    self.status = status
    self.retryAfter = retryAfter
  }

  init(_ head: HTTPResponseHead, at now: UnixTime) {
    self.init(
      status: Int(head.status.code),
      retryAfter: head.headers.first(name: "Retry-After").flatMap { Self.seconds($0, at: now) })
  }

  /// A number of seconds or a date (RFC 9110 §10.2.3).
  static func seconds(_ text: String, at now: UnixTime) -> Int64? {
    if let date = HTTPDate.unixTime(text) { return max(date - now.seconds, 0) }
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
