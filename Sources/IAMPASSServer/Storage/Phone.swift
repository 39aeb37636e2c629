import DeviceProtocol

/// A registered phone. A user has one live phone at most.
struct Phone: Sendable {
  let id: String
  /// Nil where the user was deleted.
  let user: Int64?
  let publicKey: String
  let displayName: String
  let presence: Presence
  /// It is the service's own page in a browser: that has asked for its stream.
  let hasPage: Bool
  let isCutOff: Bool
  /// What the phone made of its link's secret, for computers; nil if it made nothing.
  let pinMAC: String?
  let registeredAt: UnixTime
}
