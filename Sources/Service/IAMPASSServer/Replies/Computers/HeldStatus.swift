/// One client's question for a session's status, from its arrival to its reply.
actor HeldStatus {
  /// How long a held reply waits for an immediate answer of the phone, in milliseconds, so that the client gets one
  /// reply and not two.
  private static let answerTime: Int64 = 50

  /// It began before the first look: a change between looking and waiting is not missed.
  nonisolated let watch: ChangeBoard.Watch
  private let id: String
  private let call: Call
  private let replies: SessionReplies
  /// The client's wait in seconds; nil if it does not wait.
  private let wait: Int64?
  private let arrival: UnixTime
  private var hadAnswerTime = false

  init(_ id: String, _ call: Call, replies: SessionReplies) {
    self.id = id
    self.call = call
    self.replies = replies
    wait = call.request.preferredWait(longest: replies.longestWait)
    arrival = replies.core.clock()
    let watch = replies.core.board.watch(.session(id))
    self.watch = watch
    if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
  }

  /// - Parameter isLast: see ``HeldReply/Looking``.
  func poll(isLast: Bool) async throws -> HeldReply.PollResult {
    let now = replies.core.clock()
    guard let view = try await replies.settled(id, at: now) else { return .reply(.refused(.unknownSession)) }
    if isLast { return .reply(try await replies.reply(view, applied: wait, call)) }
    let patience = view.session.holdEnd(arrival: arrival, wait: wait ?? 0).milliseconds(since: now)
    // Another request of this client may have got the change while this one was held.
    let isNews = view.session.isNews || view.session.deliveredAt > arrival
    if wait != nil, isNews, view.session.lifecycle.status == .identifying, !hadAnswerTime {
      hadAnswerTime = true
      return .nothingYet(milliseconds: Self.answerTime)
    }
    if isNews || patience <= 0 {
      // If a client polls and nothing has changed, nothing is written.
      guard isNews || view.session.lifecycle.isUncollected else {
        return .reply(try await replies.reply(view, applied: wait, call))
      }
      return .reply(try await replies.deliver(view, applied: wait, call, at: now))
    }
    let untilDeadline = view.session.lifecycle.deadline?.milliseconds(since: now) ?? patience
    return .nothingYet(milliseconds: min(patience, untilDeadline))
  }
}
