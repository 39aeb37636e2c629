/// The keys by which approval tokens are signed.
protocol SigningKeyStore: Sendable {
  /// The newest key first, ``SigningKey/publishedCount`` at most. The first of all is made here, once and for all.
  func signingKeys(at now: UnixTime) async throws -> [SigningKey]

  /// Makes a new key, by which tokens are signed from now on. Keys that are published no more are removed.
  ///
  /// - Returns: the published keys, the newest first.
  func rotateSigningKey(at now: UnixTime) async throws -> [SigningKey]
}
