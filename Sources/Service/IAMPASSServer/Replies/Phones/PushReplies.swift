import DeviceProtocol
import IAMPASSProtocol

/// Replies about push subscriptions, by which the service rings a phone whose page is closed.
struct PushReplies: Sendable {
  let core: ServiceCore
  let trust: PushTrust

  /// The public key that a browser needs to subscribe.
  func key() async throws -> ServiceReply {
    ServiceReply(200, PushKeyReply(key: try await core.pushKey.text(core.storage, at: core.clock())).encoded())
  }

  /// Sets how the phone is rung, or that it is not rung.
  func subscribe(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.push]) { verified, _ in
      guard let statement = try? PushStatement(verified.statement) else { return .refused(.badRequest) }
      if let way = statement.way, !trust.allows(way) { return .refused(.badSubscription) }
      let isLive = try await core.storage.keepPush(statement.way, of: verified.acting, at: core.clock())
      return isLive ? .done : Refusal.cutOff.reply
    }
  }
}

extension PushTrust {
  /// Whether a phone may be rung in this way.
  func allows(_ way: PushWay) -> Bool {
    switch way {
    case .browser(let received): PushSubscription(received).map(allows) ?? false
    case .app(let received): AppToken.isFit(received)
    }
  }
}
