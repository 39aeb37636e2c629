import DeviceProtocol
import IAMPASSProtocol

/// Who sends: a token signed with the service's own key (VAPID, RFC 8292), which the browser named when it subscribed.
struct PushToken: Sendable {
  /// Seconds; RFC 8292 allows 24 h.
  private static let lifetime: Int64 = 12 * 3_600

  let key: DeviceKey

  /// The value of the `Authorization` header.
  ///
  /// - Parameters:
  ///   - audience: the push service's origin.
  ///   - contact: an address of this service, for the push service's operators.
  func authorization(audience: String, contact: String, at now: UnixTime) throws -> String {
    let header: JSON = .object(["alg": .string("ES256"), "typ": .string("JWT")])
    let claims: JSON = .object([
      "aud": .string(audience), "exp": .integer(now.seconds + Self.lifetime), "sub": .string(contact),
    ])
    let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
    let signature = Base64URL.encode(try key.signature(over: Array(signed.utf8)))
    return "vapid t=\(signed).\(signature),k=\(Base64URL.encode(try key.publicKey.point))"
  }
}
