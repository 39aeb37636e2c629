/// A key that others verify approval tokens by.
public struct PublishedKey: Sendable {
  /// `kid`: the key's thumbprint (RFC 7638).
  public let id: String
  /// By Unix time, also if the service's own is elsewhere.
  public let madeAt: UnixTime
  public let use: Use

  public enum Use: Sendable, Equatable {
    /// Only published until then, by Unix time.
    case signsFrom(UnixTime)
    case signs
    /// Tokens that it signed may not be over yet.
    case verifies
  }

  /// - Parameter keys: the published ones, the newest first.
  static func list(_ keys: [SigningKey], at now: UnixTime, by clock: StorageClock) -> [PublishedKey] {
    let signer = keys.signer(at: now)
    var isNewer = true
    return keys.map { key in
      let isSigner = key.id == signer?.id
      if isSigner { isNewer = false }
      let use: Use = isSigner ? .signs : isNewer ? .signsFrom(clock.unixTime(of: key.signsFrom)) : .verifies
      return PublishedKey(id: key.id, madeAt: clock.unixTime(of: key.madeAt), use: use)
    }
  }
}
