import DeviceProtocol
import IAMPASSProtocol

/// The token by which an app's notification service addresses a phone. A person who also has the app's key can send
/// messages to the phone.
struct AppToken: Sendable {
  let service: NotificationService
  let token: Secret
  /// When the phone sent it, in service time.
  let toldAt: UnixTime

  /// The number of hexadecimal digits of APNs tokens. It is 64 today, but Apple says that it may change.
  private static let appleLengths = 32...512
  private static let googleLengths = 16...4_096

  /// Whether a message can be sent to it. APNs has the token in a path.
  static func isFit(_ received: UnverifiedAppToken) -> Bool {
    let text = received.token.exposedValue.utf8
    switch received.service {
    case .apple:
      return appleLengths.contains(text.count) && text.count.isMultiple(of: 2)
        && text.allSatisfy {
          (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0)
        }
    case .google:
      // One that begins as a sealed value does could not be stored.
      return googleLengths.contains(text.count) && text.allSatisfy { (0x21...0x7E).contains($0) }
        && !SealedText.isSealed(received.token.exposedValue)
    }
  }
}
