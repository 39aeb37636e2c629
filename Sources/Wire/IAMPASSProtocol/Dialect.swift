/// The header names that a client uses. The two services are one product under two names.
public enum Dialect: String, Sendable, CaseIterable {
  case iampass
  case activeconnect

  /// The protocol version that these requests follow.
  public static let protocolVersion = "1"

  /// Headers that carry the Unix time in seconds. A client sends both spellings. The documentation's comes first, with
  /// its typing errors, which are part of the wire format. The published client's comes second.
  public var timestampHeaders: [String] {
    switch self {
    case .iampass: ["X-IAMPASS-Authentiaction-Timestamp", "X-IAMPASS-Authentication-Timestamp"]
    case .activeconnect: ["X-Activeconnect-Authenticiation-Timestamp", "X-Sonikpass-Authentication-Timestamp"]
    }
  }

  /// Headers that carry the protocol's version, in the same order.
  public var versionHeaders: [String] {
    switch self {
    case .iampass:
      [
        "X-IAMPASS-Authentiaction-Version", "X-IAMPASS-Authentication-Version",
        // The published client writes IAMOASS.
        "X-IAMOASS-Authentication-Version",
      ]
    case .activeconnect: ["X-Activeconnect-Authenticiation-Version", "X-Sonikpass-Authentication-Version"]
    }
  }

  public static let authenticationHeader = "Authentication"
}

extension RequestSigner {
  /// All headers that sign a request; nil if a signature cannot cover the whole address, see ``covered(_:)``.
  ///
  /// - Parameters:
  ///   - nonce: 64 random bits, used once.
  ///   - timestamp: Unix time in seconds.
  ///   - uri: the full request URI, as it will be sent.
  public func headers(
    nonce: UInt64, timestamp: Int64, uri: String, dialect: Dialect
  ) -> [(name: String, value: String)]? {
    guard let authentication = authentication(nonce: String(nonce), timestamp: String(timestamp), uri: uri) else {
      return nil
    }
    return [(Dialect.authenticationHeader, authentication)]
      + dialect.timestampHeaders.map { ($0, String(timestamp)) }
      + dialect.versionHeaders.map { ($0, Dialect.protocolVersion) }
  }
}
