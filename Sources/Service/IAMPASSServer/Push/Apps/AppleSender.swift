import IAMPASSProtocol
import JWTKit
import NIOHTTP1
import NIOSSL

/// Sends messages through APNs: "Sending notification requests to APNs" and "Handling notification responses from APNs"
/// of Apple's documentation.
struct AppleSender: Sendable {
  private static let expired = "ExpiredProviderToken"

  let client: any HTTP2Posting
  let tokens: AppleTokens
  let endpoints: NotificationEndpoints

  func send(
    _ message: AppMessage, to token: AppToken, _ settings: AppleNotifications, sender: String, at now: NotificationTime
  ) async throws -> HTTP2Reply {
    var headers: HTTPHeaders = [
      "apns-topic": settings.topic, "apns-push-type": "alert", "apns-priority": "10",
      "apns-expiration": "\(now.wall.seconds + message.secondsLeft)",
      // A later message about the same request replaces this one.
      "apns-collapse-id": message.session,
    ]
    if case .token(let key, let keyID, let teamID) = settings.proof {
      let proof = try await tokens.token(of: sender, key: key, keyID: keyID, teamID: teamID, at: now)
      headers.add(name: "authorization", value: "bearer \(proof.exposedValue)")
    }
    return try await client.post(
      message.forApple, to: "/3/device/\(token.token.exposedValue)", at: endpoints.apple(settings.environment, sender),
      headers: headers, tls: { [trust = endpoints.trust] in try settings.proof.tlsContext(trust: trust) })
  }

  /// The verdict on a reply.
  ///
  /// - Parameters:
  ///   - toldAt: when the phone sent its token, in Unix time.
  ///   - canRenew: whether the provider token is old enough to be replaced.
  static func verdict(
    of reply: HTTP2Reply, attempt: Int, secondsLeft: Int64, toldAt: UnixTime, canRenew: Bool
  ) -> PushVerdict {
    let reason = reason(in: reply)
    let problem = "status \(reply.status)" + (reason.isEmpty ? "" : " \(reason)")
    switch (reply.status, reason) {
    case (200, _): return .delivered
    case (410, _):
      // The phone may have sent its token again since.
      if let endedAt = reply.json?["timestamp"]?.integer, UnixTime(milliseconds: endedAt) < toldAt {
        return .failed("\(problem), for an earlier registration")
      }
      return .gone
    case (400, "BadDeviceToken"): return .gone
    case (403, expired) where canRenew:
      return .later(reply.push, attempt: attempt, secondsLeft: secondsLeft, problem: problem)
    case (429, _), (500..<600, _):
      return .later(reply.push, attempt: attempt, secondsLeft: secondsLeft, problem: problem)
    default: return .failed(problem)
    }
  }

  /// Whether Apple says that the provider token has expired.
  static func isTokenExpired(_ reply: HTTP2Reply) -> Bool { reply.status == 403 && reason(in: reply) == expired }

  /// One of the documentation's words; empty if the reply has another text.
  private static func reason(in reply: HTTP2Reply) -> String { PushReply.reason(in: reply.body) }
}

/// The tokens that authenticate the sender to APNs. Apple refuses a token that is older than an hour, and senders that
/// make new ones more often than every 20 minutes.
actor AppleTokens {
  /// The age at which a token is replaced, in seconds.
  private static let usualAge: Int64 = 50 * 60
  /// The least age at which a token is replaced, in seconds.
  static let leastAge: Int64 = 20 * 60

  private struct Claims: JWTPayload {
    let iss: String
    let iat: Int64
    func verify(using algorithm: some JWTAlgorithm) async throws {}
  }

  private struct Made {
    let token: Secret
    let at: UnixTime
    var isRefused = false
  }

  private var known: [String: Made] = [:]

  /// - Parameter sender: the sender's key, which differs for other settings.
  func token(
    of sender: String, key: Secret, keyID: String, teamID: String, at now: NotificationTime
  ) async throws -> Secret {
    if let token = usable(sender, at: now) { return token }
    let name = JWKIdentifier(string: keyID)
    let signer = await JWTKeyCollection().add(
      ecdsa: try ES256PrivateKey(pem: key.exposedValue), kid: name)
    let text = try await signer.sign(Claims(iss: teamID, iat: now.wall.seconds), kid: name)
    // Another message may have made one meanwhile. All messages use the first one.
    if let token = usable(sender, at: now) { return token }
    known[sender] = Made(token: Secret(text), at: now.service)
    return Secret(text)
  }

  private func usable(_ sender: String, at now: NotificationTime) -> Secret? {
    guard let made = known[sender] else { return nil }
    let age = now.service.milliseconds(since: made.at) / 1_000
    return age < (made.isRefused ? Self.leastAge : Self.usualAge) ? made.token : nil
  }

  /// Notes that Apple refused the token as expired, because the clocks differ.
  ///
  /// - Returns: whether the next message gets a new token.
  func refuse(tokenOf sender: String, at now: NotificationTime) -> Bool {
    guard let made = known[sender] else { return true }
    known[sender]?.isRefused = true
    return now.service.milliseconds(since: made.at) / 1_000 >= Self.leastAge
  }
}
