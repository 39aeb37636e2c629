import DeviceProtocol
import IAMPASSProtocol

/// A checked push subscription of a browser: a permitted address, and valid keys.
struct PushSubscription: Sendable {
  /// The whole address is a secret. Anyone who has it can send this browser messages, though unreadable ones.
  let endpoint: Secret
  let host: String
  let port: Int
  /// The path and query.
  let target: String
  let sealing: PushSealing
  /// As received, for storage.
  let received: UnverifiedPushSubscription

  /// Scheme, host and port. These may be logged, and a token names them.
  var origin: String { "https://\(host)" + (port == Self.standardPort ? "" : ":\(port)") }

  static let standardPort = 443

  /// Nil for an invalid subscription.
  init?(_ received: UnverifiedPushSubscription) {
    let head = received.endpoint.prefix { $0 != "?" }
    let query = received.endpoint.dropFirst(head.count)
    guard received.endpoint.utf8.count <= Self.greatestLength, Self.isPlain(query),
      let url = try? ServerURL(String(head)), url.isEncrypted,
      let point = Base64URL.decode(received.p256dh), let receiver = try? DevicePublicKey(point: point),
      let authentication = Base64URL.decode(received.auth.exposedValue),
      authentication.count == PushSealing.secretLength
    else { return nil }
    // Only names are accepted. A push service does not have a certificate for an address.
    guard let host = url.hostName else { return nil }
    endpoint = Secret(received.endpoint)
    self.host = host
    port = url.port
    let path = head.dropFirst("https://".count).drop { $0 != "/" }
    target = (path.isEmpty ? "/" : String(path)) + query
    sealing = PushSealing(receiver: receiver, authentication: authentication)
    self.received = received
  }

  /// The greatest length of an endpoint, in characters.
  private static let greatestLength = 1_500

  /// The query is sent unchanged, and a line break in it would begin a header.
  private static func isPlain(_ query: Substring) -> Bool {
    query.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
  }
}
