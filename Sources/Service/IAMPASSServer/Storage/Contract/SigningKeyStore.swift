/// The keys by which approval tokens are signed.
protocol SigningKeyStore: Sendable {
  /// The published keys, the newest first. The first of all is made here, once and for all.
  func signingKeys(at now: UnixTime) async throws -> [SigningKey]

  /// Makes a new key, by which tokens are signed after ``SigningKey/lead``. Keys that are published no more are removed.
  ///
  /// - Parameter isUrgent: signs by the new key at once, and removes all others.
  /// - Returns: the published keys, the newest first; nil if the newest does not sign yet. Nothing is made then.
  func rotateSigningKey(at now: UnixTime, isUrgent: Bool) async throws -> [SigningKey]?
}
