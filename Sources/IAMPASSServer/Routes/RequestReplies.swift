import DeviceProtocol
import IAMPASSProtocol

/// The requests that wait for a phone's answer: told once, held until they change, or streamed.
struct RequestReplies: Sendable {
  let core: ServiceCore

  /// The open requests, or, with `Prefer: wait`, the next change of them. A listed request counts as seen.
  func list(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.requests]) { verified, ask in
      try await core.heard(verified.phone, call, isAsking: true)
      let wait = call.request.preferredWait(longest: SignInService.usualWait)
      let end = core.clock().advanced(seconds: wait ?? 0)
      let watch = core.board.watch(.user(verified.user))
      if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
      while true {
        let now = core.clock()
        guard let open = try await openRequests(of: verified, at: now) else { return Refusal.cutOff.reply }
        let patience = end.milliseconds(since: now)
        let isNews = Set(open.map(\.session)) != Set(ask.known)
        guard !isNews, patience > 0 else { return try await show(open, of: verified.user, applied: wait, at: now) }
        let untilDeadline = open.map { $0.secondsLeft * 1_000 + 1_000 }.min() ?? patience
        guard await watch.wait(milliseconds: min(patience, untilDeadline)) else {
          return ServiceReply(200, RequestsReply(requests: open).encoded())
        }
      }
    }
  }

  /// A stream of what a phone's page shows (server-sent events), from its state now to each change of it.
  func stream(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.events]) { verified, _ in
      if !verified.phone.hasPage { try await core.storage.markPage(of: verified.phone.id) }
      let watch = core.board.watch(.user(verified.user))
      core.board.keepNewest(DeviceEvents.greatestCount, of: .user(verified.user))
      call.request.onDeparture { [weak watch] in watch?.abandon() }
      return ServiceReply(streaming: DeviceEvents(replies: self, verified: verified, watch: watch))
    }
  }

  /// The user's open requests; nil if the phone was cut off meanwhile.
  func openRequests(of verified: VerifiedStatement, at now: UnixTime) async throws -> [OpenRequest]? {
    guard let requests = try await core.storage.requests(for: verified.acting) else { return nil }
    return requests.unended.compactMap { $0.openRequest(at: now, credential: requests.credential) }
  }

  /// Marks the requests as seen before they are shown, so that their clients say "identifying".
  func show(
    _ open: [OpenRequest], of user: Int64, applied wait: Int64?, at now: UnixTime
  ) async throws -> ServiceReply {
    let seen = try await core.storage.see(Set(open.map(\.session)), of: user, at: now)
    for session in seen { core.board.changed(.session(session.id)) }
    let reply = ServiceReply(200, RequestsReply(requests: open).encoded())
    return wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply
  }
}

extension Session {
  /// Nil unless it waits for an answer.
  ///
  /// - Parameter credential: the phone's own, for the method `device`.
  fileprivate func openRequest(at now: UnixTime, credential: String?) -> OpenRequest? {
    var current = lifecycle
    current.settle(at: now)
    guard current.isUnanswered else { return nil }
    return OpenRequest(
      session: id, nonce: answerNonce, expires: current.answerDeadline.seconds,
      secondsLeft: current.answerDeadline.milliseconds(since: now) / 1_000, context: context,
      method: method, asksCode: matchCode != nil, credential: method == .device ? credential : nil,
      blocked: heldBack, challenge: challenge)
  }
}
