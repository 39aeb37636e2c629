import IAMPASSProtocol
import Synchronization

/// The published keys as text, in memory: anybody may ask for them as often as they like.
final class KnownSigningKeys: Sendable {
  /// Seconds after which they are read again: then a rotation elsewhere is published here. One that this service signs by
  /// is published at once.
  static let lifetime: Int64 = 1

  private struct Published: Sendable {
    let body: [UInt8]
    let readAt: UnixTime

    init(_ keys: [SigningKey], readAt: UnixTime) {
      body = JSON.object(["keys": .array(keys.map(\.published))]).encoded()
      self.readAt = readAt
    }
  }

  private let storage: any ServiceStorage
  private let reads: SharedReads<Published>
  private let known = Mutex<Published?>(nil)

  init(_ storage: any ServiceStorage) {
    self.storage = storage
    reads = SharedReads { ids in
      let now = storage.now()
      let published = Published(try await storage.signingKeys(at: now), readAt: now)
      return Dictionary(uniqueKeysWithValues: ids.map { ($0, published) })
    }
  }

  /// The key that signs, as it stands now; it is published when this returns.
  func signer(at now: UnixTime) async throws -> SigningKey? {
    let keys = try await storage.signingKeys(at: now)
    keep(Published(keys, readAt: now))
    return keys.signer(at: now)
  }

  /// The published keys (RFC 7517 §5); nil if they have to be read again.
  func body(at now: UnixTime) -> [UInt8]? {
    known.withLock { known in
      guard let known, (known.readAt..<known.readAt.advanced(seconds: Self.lifetime)).contains(now) else { return nil }
      return known.body
    }
  }

  /// The same, read once for all who ask at the same time.
  func readBody() async throws -> [UInt8] {
    guard let published = try await reads.value(of: "") else { throw DamagedSigningKey() }
    keep(published)
    return published.body
  }

  private func keep(_ published: Published) {
    known.withLock { known in
      if let known, known.readAt > published.readAt { return }
      known = published
    }
  }
}
