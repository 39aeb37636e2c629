import DeviceProtocol
import IAMPASSProtocol
import Logging
import NIOHTTP1
import Synchronization

/// Rings phones whose page is closed. Sign-ins do not wait for it, so a slow or unavailable push service does not delay
/// them.
final class PushSender: Sendable {
  /// The greatest number of requests whose phones are being rung, pauses between attempts included. A push service that
  /// hangs must not fill the memory.
  private static let mostAtOnce = 2_048
  private let storage: any ServiceStorage
  private let counts: PushCounts
  private let logger: Logger
  private let trust: PushTrust
  /// The contact; nil: the address of the service in the request.
  private let contact: PushContact?
  private let underway = Mutex(0)
  private let places = Mutex(PushLimit())
  private let client: Mutex<(any PushPosting)?>
  private let apps: AppSender
  private let sleep: @Sendable (_ seconds: Int64) async throws -> Void

  /// - Parameters:
  ///   - contact: the contact for the push services' operators; nil: the service's address in each request.
  ///   - counts: counts the results of messages.
  ///   - client: the client for browsers' push services; nil: one that connects to those that `trust` allows.
  ///   - appClient: the client for Apple's and Google's services; nil: one that connects as `trust` says.
  ///   - sleep: waits between attempts.
  init(
    storage: any ServiceStorage, trust: PushTrust, contact: PushContact? = nil,
    counts: PushCounts = PushCounts(), logger: Logger, client: (any PushPosting)? = nil,
    appClient: (any HTTP2Posting)? = nil,
    sleep: @escaping @Sendable (_ seconds: Int64) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
  ) {
    self.storage = storage
    self.trust = trust
    self.contact = contact
    self.counts = counts
    self.logger = logger
    self.client = Mutex(client)
    apps = AppSender(client: appClient ?? HTTP2Client(proxy: trust.proxy), trust: trust)
    self.sleep = sleep
  }

  /// Rings those asked phones of the session's user that have a subscription.
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
      counts.count(.any, .dropped)
      return tell(Self.tooMany, session, "any")
    }
    Task {
      await send(session, of: user, contact: contact)
      underway.withLock { $0 -= 1 }
    }
  }

  private static let tooMany = "too many messages are under way"

  func send(_ session: Session, of user: Int64, contact: String) async {
    do {
      let locums = try await locumTargets(session)
      let pushTargets = try await (storage.pushTargets(of: user) + locums).filter {
        session.method(for: $0.phone) != nil
      }
      // A push service that hangs does not delay the other phone.
      await withTaskGroup { group in
        for target in pushTargets { group.addTask { await self.send(session, by: target, contact) } }
      }
    } catch { tell("\(error)", session, "none") }
  }

  private func locumTargets(_ session: Session) async throws -> [PushTarget] {
    guard let locum = session.locum else { return [] }
    return try await storage.pushTargets(of: locum.user)
  }

  private func send(_ session: Session, by target: PushTarget, _ contact: String) async {
    let service = target.service
    var result = PushCounts.Result.failed
    defer { counts.count(target.kind, result) }
    do {
      guard let verdict = try await deliver(session, by: target, contact) else {
        logger.debug(
          "a phone was not rung again: the request has ended",
          metadata: ["session": "\(session.id)", "push_service": "\(service)"])
        return
      }
      switch verdict {
      case .delivered:
        result = .delivered
        logger.debug("a phone was rung", metadata: ["session": "\(session.id)", "push_service": "\(service)"])
      case .gone:
        result = .gone
        try await storage.forget(target)
        logger.info(
          "a push subscription has ended", metadata: ["phone": "\(target.phone)", "push_service": "\(service)"])
      case .again: tell("not asked again", session, service)
      case .failed(let problem):
        if problem == Self.tooMany { result = .dropped }
        tell(problem, session, service)
      }
    } catch {
      tell("\(error)", session, service)
    }
  }

  /// The last attempt's verdict; nil if the request ended before another attempt.
  private func deliver(_ session: Session, by target: PushTarget, _ contact: String) async throws -> PushVerdict? {
    var attempt = 1
    while true {
      let secondsLeft = session.lifecycle.answerDeadline.milliseconds(since: storage.now()) / 1_000
      guard secondsLeft > 0 else { return .failed("the request has ended") }
      let message = AppMessage(device: target.phone, session: session.id, secondsLeft: secondsLeft)
      let verdict = try await post(message, by: target, contact, attempt: attempt)
      guard case .again(let pause) = verdict else { return verdict }
      try await sleep(pause)
      guard await isWaiting(session.id) else { return nil }
      attempt += 1
    }
  }

  /// Whether the request still waits for an answer. A storage that fails keeps no phone from ringing.
  private func isWaiting(_ session: String) async -> Bool {
    do {
      return try await storage.session(session)?.lifecycle.isUnanswered ?? false
    } catch { return true }
  }

  /// Makes one attempt. It holds a place, but the pause after it does not, so that other phones are rung meanwhile.
  private func post(
    _ message: AppMessage, by target: PushTarget, _ contact: String, attempt: Int
  ) async throws -> PushVerdict {
    guard places.withLock({ $0.take(target.service) }) else { return .failed(Self.tooMany) }
    defer { places.withLock { $0.giveBack(target.service) } }
    switch target.way {
    case .browser(let subscription, let token):
      let reply = try await post(message, to: subscription, token, contact)
      return PushVerdict(webPush: reply, attempt: attempt, secondsLeft: message.secondsLeft)
    case .app(let token, let settings):
      return await apps.send(message, to: token, settings, attempt: attempt, clock: storage.clock)
    }
  }

  /// Logs a problem, but never the endpoint itself.
  private func tell(_ problem: String, _ session: Session, _ service: String) {
    logger.warning(
      "could not ring a phone",
      metadata: [
        "session": "\(session.id)", "push_service": "\(service)", "error": "\(DisplayText.sanitized(problem))",
      ])
  }

  private func post(
    _ message: AppMessage, to subscription: PushSubscription, _ token: PushToken, _ contact: String
  ) async throws -> PushReply {
    let text = JSON.object(["device": .string(message.device), "session": .string(message.session)]).encoded()
    let body = try subscription.sealing.seal(text)
    let headers: HTTPHeaders = [
      "Host": String(subscription.origin.dropFirst("https://".count)),
      "Authorization": try token.authorization(
        audience: subscription.origin, contact: self.contact?.text ?? contact, at: storage.clock.wall()),
      "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
      "Content-Length": "\(body.count)", "TTL": "\(message.secondsLeft)", "Urgency": "high",
      // A later message about the same request replaces this one.
      "Topic": message.session, "Connection": "close",
    ]
    return try await connection().post(to: subscription, headers: headers, body: body)
  }

  /// The client, made at first use because reading the system's authorities takes a while.
  private func connection() throws -> any PushPosting {
    try client.withLock { client in
      if let client { return client }
      let made = try PushClient(trust: trust)
      client = made
      return made
    }
  }
}

extension PushTarget {
  fileprivate var kind: PushCounts.Service {
    switch way {
    case .browser: .web
    case .app(_, let settings):
      switch settings.service {
      case .apple: .apple
      case .google: .google
      }
    }
  }

  /// The push service's name, as it may be logged.
  fileprivate var service: String {
    switch way {
    case .browser(let subscription, _): subscription.origin
    case .app(_, let settings): settings.service.rawValue
    }
  }
}
