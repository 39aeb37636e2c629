/// The id of a request in the log and in its reply's header. If a trusted proxy sends an id, that one is used, so that
/// both logs can be joined.
///
/// Other clients are not trusted: a stranger could use the ids of others.
public enum RequestID {
  static let header = "X-Request-Id"
  /// The name in the log.
  private static let name = "request_id"
  private static let greatestLength = 128

  /// The id of the request that the task answers.
  @TaskLocal static var current: String?

  /// The metadata for each line of the log; empty outside of a request.
  public static var metadata: [String: String] { current.map { [name: $0] } ?? [:] }

  /// Makes a new id. It is not a secret.
  static func made() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Whether a text may be an id: it cannot end a line or field of a log, or a header.
  static func isFit(_ text: String) -> Bool {
    (1...greatestLength).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "-_.:=+/".utf8.contains(byte)
        }
      }
  }
}

extension TrustedProxies {
  /// The id that a trusted peer has given the request; nil unless it sent exactly one valid id.
  func requestID(of request: ServiceRequest) -> String? {
    guard believes(request.peer) else { return nil }
    let named = request.values(of: [RequestID.header])
    guard named.count == 1, RequestID.isFit(named[0]) else { return nil }
    return named[0]
  }
}
