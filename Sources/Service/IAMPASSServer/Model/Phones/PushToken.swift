import DeviceProtocol
import IAMPASSProtocol

/// A token that names the sender, signed with the service's own key (VAPID, RFC 8292). The browser named that key when
/// it subscribed.
struct PushToken: Sendable {
  /// In seconds. RFC 8292 allows 24 h.
  private static let lifetime: Int64 = 12 * 3_600

  let key: DeviceKey

  /// The value of the `Authorization` header.
  ///
  /// - Parameters:
  ///   - audience: the push service's origin.
  /// - contact: this service's address, for the push service's operators.
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
