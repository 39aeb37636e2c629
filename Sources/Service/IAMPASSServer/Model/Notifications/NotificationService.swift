/// The services that deliver messages to phones' apps.
public enum NotificationService: String, CaseIterable, Sendable {
  /// The Apple Push Notification service (APNs).
  case apple
  /// Firebase Cloud Messaging (FCM).
  case google

  public var name: String {
    switch self {
    case .apple: "Apple"
    case .google: "Google"
    }
  }
}
