import IAMPASSProtocol
import NIOSSL

/// The times that a message has to do with.
struct NotificationTime: Sendable {
  /// What nobody can set: for ages.
  let service: UnixTime
  /// For others.
  let wall: UnixTime
}

/// Where Apple's and Google's services are. The names are fixed: unlike a browser's push service, no phone chooses them.
struct NotificationPlaces: Sendable {
  /// A stand-in for both; nil: the services themselves.
  private let standIn: ServerURL?
  /// The authorities of the services' certificates; nil: the system's.
  let trust: [NIOSSLCertificate]?

  init(_ trust: PushTrust) {
    standIn = trust.standIn
    self.trust = trust.standIn == nil ? nil : trust.authority
  }

  func apple(_ environment: AppleNotifications.Environment, _ sender: String) -> HTTP2Place {
    switch environment {
    case .production: place("api.push.apple.com", sender)
    case .sandbox: place("api.sandbox.push.apple.com", sender)
    }
  }

  func google(_ sender: String) -> HTTP2Place { place("fcm.googleapis.com", sender) }

  /// Where Google grants access: ``GoogleNotifications/tokenAddress``.
  func tokens(_ sender: String) -> HTTP2Place { place("oauth2.googleapis.com", sender) }

  private func place(_ host: String, _ sender: String) -> HTTP2Place {
    HTTP2Place(
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
