import IAMPASSProtocol
import JWTKit

/// What an approval token says (OpenID Connect Core §2): this user approved this, on their phone, for this application.
struct ApprovalToken: JWTPayload, Equatable {
  /// In seconds. Whoever gets a token verifies it at once, and keeps it as evidence.
  static let lifetime: Int64 = 3_600

  /// What the phone showed.
  struct Shown: Codable, Equatable {
    /// ``ShownContext/hash(_:)``.
    let digest: String
    let pairs: [String: String]
  }

  /// The service's address: `issuer` of the configuration for OpenID clients.
  let iss: String
  /// The user's id at the application.
  let sub: String
  /// The application's id, or the OpenID client's.
  let aud: String
  /// The credential that asked: the application's id, or the id of its host credential or OpenID client.
  let azp: String
  /// Unix times in seconds: of the approval, and of the token's end.
  let iat: Int64
  let exp: Int64
  /// The computer's own, if it gave one.
  let nonce: String?
  /// RFC 8176: by a key of the phone, by somebody who was there; and if the phone was unlocked for this, by that as well.
  let amr: [String]
  let approvalData: Shown

  enum CodingKeys: String, CodingKey {
    case iss, sub, aud, azp, iat, exp, nonce, amr
    case approvalData = "approval_data"
  }

  func verify(using algorithm: some JWTAlgorithm) async throws {}
}

extension ApprovalToken {
  /// Nil unless the session was approved and its computer asked for a token.
  ///
  /// - Parameters:
  ///   - clock: for the times, since service time can be far from Unix time.
  ///   - audience: nil: the session's application.
  init?(_ session: Session, user: String, issuer: String, clock: StorageClock, audience: String? = nil) {
    guard let asked = session.idTokenNonce,
      let approvedAt = session.lifecycle.approvedAt.map(clock.unixTime(of:))
    else { return nil }
    iss = issuer
    sub = user
    aud = audience ?? session.application
    azp = session.credential ?? session.application
    iat = approvedAt.seconds
    exp = approvedAt.seconds + Self.lifetime
    nonce = asked.isEmpty ? nil : asked
    amr = session.method == .device ? ["pop", "user", "mfa"] : ["pop", "user"]
    approvalData = Shown(
      digest: ShownContext.hash(session.context),
      pairs: Dictionary(session.context.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }))
  }
}
