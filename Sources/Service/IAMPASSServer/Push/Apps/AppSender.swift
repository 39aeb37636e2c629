import IAMPASSProtocol

/// Sends messages to apps, through Apple or Google.
struct AppSender: Sendable {
  private let apple: AppleSender
  private let google: GoogleSender

  init(client: any HTTP2Posting, trust: PushTrust) {
    let endpoints = NotificationEndpoints(trust)
    apple = AppleSender(client: client, tokens: AppleTokens(), endpoints: endpoints)
    google = GoogleSender(
      client: client, grants: GoogleGrants(client: client, endpoints: endpoints), endpoints: endpoints)
  }

  /// Makes one attempt.
  ///
  /// - Parameter clock: gives the current times.
  func send(
    _ message: AppMessage, to token: AppToken, _ settings: NotificationSettings, attempt: Int, clock: StorageClock
  ) async -> PushVerdict {
    let now = NotificationTime(service: clock.now(), wall: clock.wall())
    do {
      switch settings {
      case .apple(let own):
        let reply = try await apple.send(message, to: token, own, sender: settings.sender, at: now)
        let isExpired = AppleSender.isTokenExpired(reply)
        let canRenew = isExpired ? await apple.tokens.refuse(tokenOf: settings.sender, at: now) : false
        return AppleSender.verdict(
          of: reply, attempt: attempt, secondsLeft: message.secondsLeft, toldAt: clock.unixTime(of: token.toldAt),
          canRenew: canRenew)
      case .google(let own):
        let reply = try await google.send(message, to: token, own, sender: settings.sender, at: now)
        if reply.status == 401 { await google.grants.forget(grantOf: settings.sender) }
        return GoogleSender.verdict(of: reply, attempt: attempt, secondsLeft: message.secondsLeft)
      }
    } catch let refused as GrantRefused {
      let problem = "no access token, status \(refused.reply.status)"
      let isPassing = refused.reply.status == 429 || refused.reply.status >= 500
      return isPassing
        ? .later(refused.reply, attempt: attempt, secondsLeft: message.secondsLeft, problem: problem)
        : .failed(problem)
    } catch {
      // A kept connection may have ended meanwhile. The next attempt makes a new one.
      return .later(
        PushReply(status: 0), attempt: attempt, secondsLeft: message.secondsLeft, problem: "\(error)")
    }
  }
}

extension NotificationSettings {
  /// The sender's key: equal for equal settings, and without readable parts of them.
  var sender: String { Digest.hexadecimal(Digest.sha256(Array((line + "\n" + secret.exposedValue).utf8))) }
}
