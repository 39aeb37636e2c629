import IAMPASSProtocol
import NIOSSL

/// The current times for a message.
struct NotificationTime: Sendable {
  /// Service time, which cannot be set, for ages.
  let service: UnixTime
  /// The wall clock's time, for others.
  let wall: UnixTime
}

/// The addresses of Apple's and Google's services. They are fixed, while phones choose a browser's push service.
struct NotificationEndpoints: Sendable {
  /// A stand-in for both; nil: the services themselves.
  private let standIn: ServerURL?
  /// The authorities of the services' certificates; nil: the system's.
  let trust: [NIOSSLCertificate]?

  init(_ trust: PushTrust) {
    standIn = trust.standIn
    self.trust = trust.standIn == nil ? nil : trust.authority
  }

  func apple(_ environment: AppleNotifications.Environment, _ sender: String) -> HTTP2Endpoint {
    switch environment {
    case .production: endpoint("api.push.apple.com", sender)
    case .sandbox: endpoint("api.sandbox.push.apple.com", sender)
    }
  }

  func google(_ sender: String) -> HTTP2Endpoint { endpoint("fcm.googleapis.com", sender) }

  /// The server that grants Google's access tokens: ``GoogleNotifications/tokenAddress``.
  func tokens(_ sender: String) -> HTTP2Endpoint { endpoint("oauth2.googleapis.com", sender) }

  private func endpoint(_ host: String, _ sender: String) -> HTTP2Endpoint {
    HTTP2Endpoint(
      host: standIn?.hostName ?? host, port: standIn?.port ?? PushSubscription.standardPort,
      sender: "\(host) \(sender)")
  }

  static func tlsContext(trust: [NIOSSLCertificate]?) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2"]
    if let trust { configuration.trustRoots = .certificates(trust) }
    return try NIOSSLContext(configuration: configuration)
  }
}
