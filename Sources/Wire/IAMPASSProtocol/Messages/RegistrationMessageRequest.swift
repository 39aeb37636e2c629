/// The body of `send_registration_sms` (published client only).
public struct RegistrationMessageRequest: Sendable, Equatable {
  public let phoneNumber: String
  public let displayName: String?
  public let message: String?

  public init(phoneNumber: String, displayName: String? = nil, message: String? = nil) {
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.message = message
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let number = json["phone_number"]?.string else { throw .member("phone_number") }
    self.init(
      phoneNumber: number, displayName: json["display_name"]?.string, message: json["message"]?.string)
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "phone_number": .string(phoneNumber), "display_name": displayName.map { .string($0) },
      "message": message.map { .string($0) },
    ]).encoded()
  }
}
