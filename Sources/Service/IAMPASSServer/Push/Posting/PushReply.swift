import IAMPASSProtocol
import NIOHTTP1

/// A push service's reply.
struct PushReply: Sendable, Equatable {
  let status: Int
  /// Seconds until the service wants to be asked again; nil if the reply does not have a valid value.
  let retryAfter: Int64?
  /// Apple's one-word reason for a refusal, such as `BadJwtToken`; otherwise empty. Other services may quote the
  /// subscription in their text, which must not be logged.
  var reason = ""

  /// The most bytes of a refusal's text that are read.
  static let greatestText = 1_024
  private static let greatestReasonLength = 60

  init(status: Int, retryAfter: Int64? = nil, reason: String = "") {
    self.status = status
    self.retryAfter = retryAfter
    self.reason = reason
  }

  /// One of the words of Apple's documentation.
  static func reason(in text: [UInt8]) -> String {
    let reason = (try? JSON(parsing: text))?["reason"]?.string ?? ""
    return reason.utf8.count <= greatestReasonLength && reason.allSatisfy { $0.isASCII && $0.isLetter } ? reason : ""
  }

  /// The problem in the log's words.
  var problem: String { reason.isEmpty ? "status \(status)" : "status \(status) \(reason)" }

  init(_ head: HTTPResponseHead, at now: UnixTime) {
    self.init(
      status: Int(head.status.code),
      retryAfter: head.headers.first(name: "Retry-After").flatMap { Self.seconds($0, at: now) })
  }

  /// Parses a number of seconds or a date (RFC 9110 §10.2.3).
  static func seconds(_ text: String, at now: UnixTime) -> Int64? {
    if let date = HTTPDate.unixTime(text) { return max(date - now.seconds, 0) }
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
