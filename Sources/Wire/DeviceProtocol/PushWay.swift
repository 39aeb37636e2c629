import IAMPASSProtocol

/// How a phone asks to be rung. As received, nothing is checked.
public enum PushWay: Sendable, Equatable {
  /// By a browser's push service.
  case browser(UnverifiedPushSubscription)
  /// By the notification service of an app.
  case app(UnverifiedAppToken)

  init(_ json: JSON) throws(MessageError) {
    self = json["service"] == nil ? .browser(try UnverifiedPushSubscription(json)) : .app(try UnverifiedAppToken(json))
  }

  var json: JSON {
    switch self {
    case .browser(let subscription): subscription.json
    case .app(let token): token.json
    }
  }
}

/// An app's address at its notification service. As received, nothing is checked.
public struct UnverifiedAppToken: Sendable, Equatable {
  public enum Service: String, Sendable, CaseIterable {
    /// A device token of APNs, in hexadecimal digits.
    case apple
    /// A registration token of FCM.
    case google
  }

  public let service: Service
  public let token: Secret

  public init(service: Service, token: Secret) {
    self.service = service
    self.token = token
  }

  init(_ json: JSON) throws(MessageError) {
    guard let service = Service(rawValue: try json.text("service")) else { throw .member("service") }
    self.init(service: service, token: Secret(try json.text("token")))
  }

  var json: JSON {
    .object(["service": .string(service.rawValue), "token": .string(token.exposedValue)])
  }
}
