import DeviceProtocol
import IAMPASSProtocol
import Synchronization

/// The requests that wait for a phone's answer: sent once, held until they change, or streamed.
struct RequestReplies: Sendable {
  let core: ServiceCore

  /// The open requests, or, with `Prefer: wait`, the next change of them. A listed request counts as seen.
  func list(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.requests]) { verified, ask in
      try await core.markSeen(verified.phone, call, isAsking: true)
      let wait = call.request.preferredWait(longest: HeldReply.usualWait)
      let end = core.clock().advanced(seconds: wait ?? 0)
      let watch = core.board.watch(.user(verified.user))
      if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
      let arrival = Arrival()
      // That the phone has asked is noted by now.
      let departure = ClientDeparture(call.request.hasLeft)
      let poll: HeldReply.Poll = { isLast in
        try await ClientDeparture.$current.withValue(departure) {
          try await lookForList(verified, known: Set(ask.known), arrival, applied: wait, until: end, isLast: isLast)
        }
      }
      switch try await poll(false) {
      case .reply(let reply): return reply
      case .nothingYet(let patience): return ServiceReply(holding: HeldReply(watch, patience: patience, poll: poll))
      }
    }
  }

  private func lookForList(
    _ verified: VerifiedStatement, known: Set<String>, _ arrival: Arrival, applied wait: Int64?, until end: UnixTime,
    isLast: Bool
  ) async throws -> HeldReply.PollResult {
    let now = core.clock()
    guard let shown = try await openRequests(of: verified, at: now) else { return .reply(Refusal.cutOff.reply) }
    if isLast { return .reply(ServiceReply(200, shown.reply.encoded())) }
    let patience = end.milliseconds(since: now)
    // A waiting phone gets a reply at once if a method is newly required, or a code was newly used.
    guard !arrival.isNews(shown.reply), Set(shown.reply.requests.map(\.session)) == known, patience > 0 else {
      return .reply(try await show(shown, applied: wait, at: now))
    }
    // An expired request is closed a moment later.
    let untilDeadline = shown.reply.requests.map { $0.secondsLeft * 1_000 + 1_000 }.min() ?? patience
    return .nothingYet(milliseconds: min(patience, untilDeadline))
  }

  /// A stream of what a phone's page shows (server-sent events), from its state now to each change of it.
  func stream(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.events]) { verified, _ in
      if !verified.phone.hasPage { try await core.storage.markPage(of: verified.phone.id) }
      let watch = core.board.watch(.user(verified.user))
      core.board.keepNewest(DeviceEvents.greatestCount, of: .user(verified.user))
      call.request.onDeparture { [weak watch] in watch?.abandon() }
      let departure = ClientDeparture(call.request.hasLeft)
      return ServiceReply(
        streaming: DeviceEvents(replies: self, verified: verified, watch: watch, departure: departure))
    }
  }

  /// The user's open requests; nil if the phone was revoked meanwhile.
  func openRequests(of verified: VerifiedStatement, at now: UnixTime) async throws -> ShownRequests? {
    try await core.storage.requests(for: verified.acting, at: now).map { shown($0, to: verified, at: now) }
  }

  /// Those of these requests that wait for this phone's answer, and what else is shown with them.
  func shown(_ requests: PhoneRequests, to verified: VerifiedStatement, at now: UnixTime) -> ShownRequests {
    core.tell(leftOut: requests.unreadable)
    let reply = RequestsReply(
      requests: requests.unended.compactMap {
        $0.openRequest(for: verified.phone, at: now, credential: requests.credential)
      },
      training: requests.missingMethods, codesUsed: requests.codeUses.map(\.report),
      answered: requests.elsewhere.map(\.message))
    let ids = Set(reply.requests.map(\.session))
    return ShownRequests(
      reply: reply,
      unseen: requests.unended.filter {
        $0.user == verified.user && $0.lifecycle.status == .pending && ids.contains($0.id)
      })
  }

  /// Marks the requests as seen before they are shown, so that their clients say "identifying".
  func show(
    _ shown: ShownRequests, applied wait: Int64?, at now: UnixTime
  ) async throws -> ServiceReply {
    for session in shown.unseen where try await core.storage.see(session, at: now) {
      core.board.changed(.session(session.id))
    }
    let reply = ServiceReply(200, shown.reply.encoded())
    return wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply
  }
}

/// What a phone is shown.
struct ShownRequests: Sendable {
  let reply: RequestsReply
  /// Those of the phone's user that no phone has shown yet.
  let unseen: [Session]
}

/// The result of a listing's first look.
private final class Arrival: Sendable {
  private let first = Mutex<RequestsReply?>(nil)

  /// Whether something besides the requests has changed since the phone began to wait.
  func isNews(_ shown: RequestsReply) -> Bool {
    first.withLock { first in
      guard let first else {
        first = shown
        return false
      }
      return shown.training != first.training || shown.codesUsed != first.codesUsed
    }
  }
}

extension AnswerElsewhere {
  fileprivate var message: AnsweredElsewhere {
    AnsweredElsewhere(
      session: session.id, isApproved: session.lifecycle.approvedAt != nil, phone: phone, context: session.context)
  }
}

extension Session {
  /// The request as this phone shows it; nil unless it waits for this phone's answer.
  ///
  /// - Parameter credential: the phone's credential for the method `device`.
  fileprivate func openRequest(for phone: Phone, at now: UnixTime, credential: String?) -> OpenRequest? {
    var current = lifecycle
    current.settle(at: now)
    guard current.isUnanswered, let method = method(for: phone.id) else { return nil }
    return OpenRequest(
      session: id, nonce: answerNonce, expires: current.answerDeadline.seconds,
      secondsLeft: current.answerDeadline.milliseconds(since: now) / 1_000, context: context,
      method: method, asksCode: matchCode != nil, credential: method == .device ? credential : nil,
      blocked: heldBack, challenge: challenge, isForAnother: locum?.phone == phone.id,
      document: document?.rawValue)
  }
}
