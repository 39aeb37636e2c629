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

  private static let standardPort = 443

  /// Nil where it is not fit.
  init?(_ received: UnverifiedPushSubscription) {
    guard let url = try? ServerURL(Self.withoutQuery(received.endpoint)), url.isEncrypted,
      url.description.utf8.count <= Self.greatestLength,
      let point = Base64URL.decode(received.p256dh), let receiver = try? DevicePublicKey(point: point),
      let authentication = Base64URL.decode(received.auth.exposedValue),
      authentication.count == PushSealing.secretLength
    else { return nil }
    // By name only: a certificate for a number is no push service's.
    guard let host = url.hostName else { return nil }
    endpoint = Secret(received.endpoint)
    self.host = host
    port = url.port
    let scheme = received.endpoint.dropFirst("https://".count)
    target = scheme.firstIndex { $0 == "/" || $0 == "?" }.map { String(scheme[$0...]) } ?? "/"
    sealing = PushSealing(receiver: receiver, authentication: authentication)
    self.received = received
  }

  /// Characters of an endpoint.
  private static let greatestLength = 1_500

  /// Only what comes before it tells where the request goes; the rest is sent as it stands.
  private static func withoutQuery(_ endpoint: String) -> String {
    String(endpoint.prefix { $0 != "?" })
  }
}
