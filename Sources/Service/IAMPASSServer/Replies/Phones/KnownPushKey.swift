import IAMPASSProtocol
import Synchronization

/// The public key that browsers subscribe with, in memory: it is made once and for all, and strangers may ask for it as
/// often as they like.
final class KnownPushKey: Sendable {
  /// Seconds after which it is read again all the same: a database that was put back may have another one.
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
