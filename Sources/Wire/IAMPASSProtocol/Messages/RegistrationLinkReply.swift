/// The reply of `device_registration_link` and `lost_user_mobile_device`.
public struct RegistrationLinkReply: Sendable, Equatable {
  public let registerURL: String

  public init(registerURL: String) { self.registerURL = registerURL }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let link = try JSON.acknowledged(body)["register_url"]?.string else { throw .member("register_url") }
    self.init(registerURL: link)
  }

  /// - Parameter endedSessions: see ``LostDeviceSessions``.
  public func encoded(endedSessions: Int64? = nil) -> [UInt8] {
    JSON.object([
      "status": .bool(true), "register_url": .string(registerURL),
      LostDeviceSessions.endedName: endedSessions.map { .integer($0) },
    ]).encoded()
  }
}
