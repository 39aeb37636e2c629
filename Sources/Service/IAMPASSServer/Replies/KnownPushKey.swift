import IAMPASSProtocol
import Synchronization

/// The public key that browsers subscribe with, in memory. It is made once, and strangers may ask for it at any rate.
final class KnownPushKey: Sendable {
  /// The age in seconds at which it is read again: a restored database may have another key.
  static let lifetime: Int64 = 60

  private let known = Mutex<(text: String, readAt: UnixTime)?>(nil)

  func text(_ storage: any PhoneStore, at now: UnixTime) async throws -> String {
    if let (text, readAt) = known.withLock({ $0 }), (readAt..<readAt.advanced(seconds: Self.lifetime)).contains(now) {
      return text
    }
    let text = Base64URL.encode(try await storage.pushToken().key.publicKey.point)
    known.withLock { $0 = (text, now) }
    return text
  }
}
