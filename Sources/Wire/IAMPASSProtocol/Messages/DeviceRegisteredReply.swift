/// The reply of `has_registered_mobile_device`.
public struct DeviceRegisteredReply: Sendable, Equatable {
  public let isRegistered: Bool

  public init(isRegistered: Bool) { self.isRegistered = isRegistered }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let value = try JSON.acknowledged(body)["device_registered"]?.bool else { throw .member("device_registered") }
    self.init(isRegistered: value)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["status": .bool(true), "device_registered": .bool(isRegistered)]).encoded()
  }
}
