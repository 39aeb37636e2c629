/// What the lines of the log about one request have in common, and its reply's header: a proxy's id if a trusted proxy
/// sends one, so that both logs can be joined.
///
/// Nobody else is believed: a stranger could give its requests the ids of others.
public enum RequestID {
  static let header = "X-Request-Id"
  /// The name in the log.
  private static let name = "request_id"
  private static let greatestLength = 128

  /// The id of the request that the task answers.
  @TaskLocal static var current: String?

  /// For each line of the log; empty outside of a request.
  public static var metadata: [String: String] { current.map { [name: $0] } ?? [:] }

  /// A new one. It is not a secret.
  static func made() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Whether a text may be one: it can end no line and no field of a log, and no header.
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
  /// The id that a trusted peer has given the request; nil: it sent none, or not one alone that is fit.
  func requestID(of request: ServiceRequest) -> String? {
    guard believes(request.peer) else { return nil }
    let named = request.values(of: [RequestID.header])
    guard named.count == 1, RequestID.isFit(named[0]) else { return nil }
    return named[0]
  }
}
