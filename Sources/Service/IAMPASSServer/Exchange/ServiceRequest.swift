import IAMPASSProtocol

/// A request as received. Nothing in it is verified.
public struct ServiceRequest: Sendable {
  public let method: String
  /// Path and query, byte for byte as sent, because signatures cover it.
  public let target: String
  /// The value of `:authority` or `Host`.
  public let authority: String?
  public let headers: [(name: String, value: String)]
  public let body: [UInt8]
  /// The numeric address that the connection came from, if it is known.
  public let peer: String?
  /// Which listener it came by.
  var listener = Listener.everything
  /// Calls back once the client has gone, for held requests.
  public let onDeparture: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Whether the client has gone: nobody would read the reply.
  let hasLeft: @Sendable () -> Bool
  /// Is called once the client is authenticated.
  let onProof: @Sendable () -> Void

  public init(
    method: String, target: String, authority: String?, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], peer: String? = nil,
    onDeparture: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { _ in },
    hasLeft: @escaping @Sendable () -> Bool = { false },
    onProof: @escaping @Sendable () -> Void = {}
  ) {
    self.method = method
    self.target = target
    self.authority = authority
    self.headers = headers
    self.body = body
    self.peer = peer
    self.onDeparture = onDeparture
    self.hasLeft = hasLeft
    self.onProof = onProof
  }

  /// All values of headers with one of these names, ignoring the case of ASCII letters: names have no others (RFC 9110
  /// §5.1).
  func values(of names: [String]) -> [String] {
    headers.filter { header in names.contains { Self.isSameName($0, header.name) } }.map(\.value)
  }

  /// It makes no copies, because each request's headers are looked up many times.
  private static func isSameName(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && left.utf8.elementsEqual(right.utf8) { $0 == $1 || lowered($0) == lowered($1) }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// The seconds of `Prefer: wait=N` (RFC 7240 §4.3); nil if there is no valid one.
  ///
  /// - Parameter longest: the longest wait that the service allows; 0: replies are not held.
  func preferredWait(longest: Int64) -> Int64? {
    guard longest > 0 else { return nil }
    for preference in values(of: ["Prefer"]).flatMap({ $0.split(separator: ",") }) {
      let parts = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map {
        $0.trimming(" \t\"")
      }
      guard parts.count == 2, parts[0].lowercased() == "wait", let seconds = Int64(parts[1]), seconds > 0 else {
        continue
      }
      return min(seconds, longest)
    }
    return nil
  }
}

extension ServiceRequest {
  /// Whether a browser asks for a page, and not a program for JSON.
  var wantsPage: Bool {
    values(of: ["Accept"]).flatMap { $0.lowercased().split(separator: ",") }.contains {
      $0.prefix { $0 != ";" }.filter { $0 != " " } == "text/html"
    }
  }

  /// Whether its reply may be held or be a stream, which decides what its task keeps in memory. A wrong guess only
  /// costs memory.
  var mayWait: Bool { target.hasSuffix("/events") || !values(of: ["Prefer"]).isEmpty }
}
