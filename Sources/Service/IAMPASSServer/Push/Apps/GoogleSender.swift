import IAMPASSProtocol
import JWTKit
import NIOHTTP1

/// Sends messages through FCM's HTTP v1 API, `projects.messages.send`.
struct GoogleSender: Sendable {
  /// The pause after 429 without `Retry-After`, in seconds, by FCM's documentation.
  private static let quotaPause: Int64 = 60

  let client: any HTTP2Posting
  let grants: GoogleGrants
  let endpoints: NotificationEndpoints

  func send(
    _ message: AppMessage, to token: AppToken, _ settings: GoogleNotifications, sender: String,
    at now: NotificationTime
  ) async throws -> HTTP2Reply {
    let grant = try await grants.grant(of: sender, settings, at: now)
    return try await client.post(
      message.forGoogle(to: token.token),
      to: "/v1/projects/\(PercentEncoding.encode(settings.projectID))/messages:send",
      at: endpoints.google(sender),
      headers: ["authorization": "Bearer \(grant.exposedValue)", "content-type": "application/json"],
      tls: { [trust = endpoints.trust] in try NotificationEndpoints.tlsContext(trust: trust) })
  }

  static func verdict(of reply: HTTP2Reply, attempt: Int, secondsLeft: Int64) -> PushVerdict {
    let code = code(in: reply)
    let problem = "status \(reply.status)" + (code.isEmpty ? "" : " \(code)")
    switch (reply.status, code) {
    case (200, _): return .delivered
    case (404, "UNREGISTERED"): return .gone
    // The next attempt uses another access token.
    case (401, _), (500..<600, _):
      return .later(reply.push, attempt: attempt, secondsLeft: secondsLeft, problem: problem)
    case (429, _):
      let pause = reply.push.retryAfter ?? quotaPause
      return .later(
        PushReply(status: 429, retryAfter: pause), attempt: attempt, secondsLeft: secondsLeft, problem: problem)
    default: return .failed(problem)
    }
  }

  /// FCM's own error code, or Google's general one; empty if the reply has neither.
  private static func code(in reply: HTTP2Reply) -> String {
    let error = reply.json?["error"]
    let codes =
      (error?["details"]?.array ?? []).compactMap { $0["errorCode"]?.string } + [error?["status"]?.string ?? ""]
    return codes.first {
      !$0.isEmpty && $0.utf8.count <= 60 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
    }
      ?? ""
  }
}

/// Access tokens that Google grants to service accounts: "Using OAuth 2.0 for Server to Server Applications".
actor GoogleGrants {
  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// How long an assertion is valid, in seconds. Google accepts an hour at most.
  private static let assertionLife: Int64 = 3_600
  /// How long before its end a grant is renewed, in seconds.
  private static let margin: Int64 = 60
  /// The longest time that a grant is kept, in seconds, whatever its reply says.
  private static let longestLife: Int64 = 86_400

  private struct Claims: JWTPayload {
    let iss, scope, aud: String
    let iat, exp: Int64
    func verify(using algorithm: some JWTAlgorithm) async throws {}
  }

  private struct Grant {
    let token: Secret
    let endsAt: UnixTime
  }

  private let client: any HTTP2Posting
  private let endpoints: NotificationEndpoints
  private var known: [String: Grant] = [:]
  private var underway: [String: Task<Grant, any Error>] = [:]

  init(client: any HTTP2Posting, endpoints: NotificationEndpoints) {
    self.client = client
    self.endpoints = endpoints
  }

  /// - Parameter sender: the sender's key, which differs for other settings.
  func grant(of sender: String, _ settings: GoogleNotifications, at now: NotificationTime) async throws -> Secret {
    if let grant = known[sender], now.service < grant.endsAt { return grant.token }
    // Many messages may begin at once, but only one of them asks.
    let task = underway[sender] ?? Task { try await ask(for: sender, settings, at: now) }
    underway[sender] = task
    defer { underway[sender] = nil }
    let grant = try await task.value
    known[sender] = grant
    return grant.token
  }

  /// Drops a grant that Google no longer accepts.
  func forget(grantOf sender: String) { known[sender] = nil }

  private func ask(
    for sender: String, _ settings: GoogleNotifications, at now: NotificationTime
  ) async throws -> Grant {
    let name = JWKIdentifier(string: settings.keyID)
    let signer = await JWTKeyCollection().add(
      rsa: try Insecure.RSA.PrivateKey(pem: settings.key.exposedValue), digestAlgorithm: .sha256, kid: name)
    let assertion = try await signer.sign(
      Claims(
        iss: settings.account, scope: Self.scope, aud: GoogleNotifications.tokenAddress, iat: now.wall.seconds,
        exp: now.wall.seconds + Self.assertionLife), kid: name)
    let kind = PercentEncoding.encode("urn:ietf:params:oauth:grant-type:jwt-bearer")
    let reply = try await client.post(
      Array("grant_type=\(kind)&assertion=\(assertion)".utf8), to: "/token", at: endpoints.tokens(sender),
      headers: ["content-type": "application/x-www-form-urlencoded"],
      tls: { [trust = endpoints.trust] in try NotificationEndpoints.tlsContext(trust: trust) })
    guard reply.status == 200, let token = reply.json?["access_token"]?.string, !token.isEmpty,
      token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let life = reply.json?["expires_in"]?.integer, life > 0
    else { throw GrantRefused(reply: reply.push) }
    let seconds = min(max(life - Self.margin, 1), Self.longestLife)
    return Grant(token: Secret(token), endsAt: now.service.advanced(seconds: seconds))
  }
}

/// Google did not give an access token. Its reply may have parts of the assertion, so only the status is logged.
struct GrantRefused: Error {
  let reply: PushReply
}
