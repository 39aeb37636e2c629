import DeviceProtocol
import IAMPASSProtocol

/// Where a browser takes messages, checked: an address that may be asked for, and keys that work.
struct PushSubscription: Sendable {
  /// The whole address is a secret: who has it can send this browser messages, of which none can be read.
  let endpoint: Secret
  let host: String
  let port: Int
  /// Path and query.
  let target: String
  let sealing: PushSealing
  /// As received, for storing.
  let received: UnverifiedPushSubscription

  /// Scheme, host and port: what may be logged, and whom a token is for.
  var origin: String { "https://\(host)" + (port == Self.standardPort ? "" : ":\(port)") }

  static let standardPort = 443

  /// Nil where it is not fit.
  init?(_ received: UnverifiedPushSubscription) {
    let head = received.endpoint.prefix { $0 != "?" }
    let query = received.endpoint.dropFirst(head.count)
    guard received.endpoint.utf8.count <= Self.greatestLength, Self.isPlain(query),
      let url = try? ServerURL(String(head)), url.isEncrypted,
      let point = Base64URL.decode(received.p256dh), let receiver = try? DevicePublicKey(point: point),
      let authentication = Base64URL.decode(received.auth.exposedValue),
      authentication.count == PushSealing.secretLength
    else { return nil }
    // By name only: a certificate for a number is no push service's.
    guard let host = url.hostName else { return nil }
    endpoint = Secret(received.endpoint)
    self.host = host
    port = url.port
    let path = head.dropFirst("https://".count).drop { $0 != "/" }
    target = (path.isEmpty ? "/" : String(path)) + query
    sealing = PushSealing(receiver: receiver, authentication: authentication)
    self.received = received
  }

  /// Characters of an endpoint.
  private static let greatestLength = 1_500

  /// A query is sent as it stands: a line break in it would begin a header.
  private static func isPlain(_ query: Substring) -> Bool {
    query.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
  }
}
