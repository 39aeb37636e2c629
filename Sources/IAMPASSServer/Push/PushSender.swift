import DeviceProtocol
import IAMPASSProtocol
import Logging
import NIOHTTP1
import Synchronization

/// Rings phones whose page is closed. Nothing waits for it: a slow or unavailable push service does not delay a
/// sign-in.
final class PushSender: Sendable {
  /// The greatest number of messages under way. A push service that hangs must not fill the memory.
  private static let mostAtOnce = 64
  /// The number of attempts for a message, and the seconds between them.
  private static let tries = 2
  private static let pause: Int64 = 2

  private let storage: any ServiceStorage
  private let logger: Logger
  private let trust: PushTrust
  private let underway = Mutex(0)
  private let client = Mutex<PushClient?>(nil)

  init(storage: any ServiceStorage, trust: PushTrust, logger: Logger) {
    self.storage = storage
    self.trust = trust
    self.logger = logger
  }

  /// Rings the phone of the session's user, if the phone has a subscription.
  ///
  /// - Parameter contact: this service's address.
  func ring(for session: Session, contact: String) {
    guard let user = session.user else { return }
    let isFull = underway.withLock { count in
      guard count < Self.mostAtOnce else { return true }
      count += 1
      return false
    }
    guard !isFull else {
      logger.warning("could not ring a phone: too many messages are under way", metadata: ["session": "\(session.id)"])
      return
    }
    Task {
      await send(session, of: user, contact: contact)
      underway.withLock { $0 -= 1 }
    }
  }

  private func send(_ session: Session, of user: Int64, contact: String) async {
    var origin = "none"
    do {
      guard let bell = try await storage.bell(of: user) else { return }
      let (phone, subscription) = (bell.phone, bell.subscription)
      origin = subscription.origin
      let message = JSON.object(["device": .string(phone), "session": .string(session.id)]).encoded()
      for attempt in 1...Self.tries {
        let status = try await post(message, for: session, to: subscription, bell.token, contact)
        switch status {
        case 200..<300:
          logger.debug("a phone was rung", metadata: ["session": "\(session.id)", "push_service": "\(origin)"])
          return
        case 404, 410:
          // The subscription has ended (RFC 8030 §7.3).
          try await storage.forgetPush(of: phone, ifStill: subscription.received)
          logger.info("a push subscription has ended", metadata: ["phone": "\(phone)", "push_service": "\(origin)"])
          return
        case 429,
          500..<600 where attempt < Self.tries:
          try await Task.sleep(for: .seconds(Self.pause))
        default: return tell("status \(status)", session, origin)
        }
      }
    } catch {
      tell("\(error)", session, origin)
    }
  }

  /// Never logs the endpoint itself.
  private func tell(_ problem: String, _ session: Session, _ origin: String) {
    logger.warning(
      "could not ring a phone",
      metadata: [
        "session": "\(session.id)", "push_service": "\(origin)", "error": "\(DisplayText.sanitized(problem))",
      ])
  }

  private func post(
    _ message: [UInt8], for session: Session, to subscription: PushSubscription, _ token: PushToken, _ contact: String
  ) async throws -> Int {
    let secondsLeft = session.lifecycle.answerDeadline.milliseconds(since: storage.now()) / 1_000
    // The request has ended, so that the message is useless.
    guard secondsLeft > 0 else { return 204 }
    let body = try subscription.sealing.seal(message)
    let headers: HTTPHeaders = [
      "Host": String(subscription.origin.dropFirst("https://".count)),
      "Authorization": try token.authorization(
        audience: subscription.origin, contact: contact, at: storage.clock.wall()),
      "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
      "Content-Length": "\(body.count)", "TTL": "\(secondsLeft)", "Urgency": "high",
      // A later message about the same request replaces this one.
      "Topic": session.id, "Connection": "close",
    ]
    return try await connection().post(to: subscription, headers: headers, body: body)
  }

  /// Made at first use, since reading the system's authorities takes a while.
  private func connection() throws -> PushClient {
    try client.withLock { client in
      if let client { return client }
      let made = try PushClient(trust: trust)
      client = made
      return made
    }
  }
}
