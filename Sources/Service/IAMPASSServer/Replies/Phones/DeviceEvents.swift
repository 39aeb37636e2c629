import DeviceProtocol
import IAMPASSProtocol

/// One page's stream.
actor DeviceEvents: EventSource {
  /// The most held replies of one user's phones. A page that lost its network leaves some behind. The oldest end first.
  static let greatestCount = 12
  /// The longest silence of a stream, in seconds: middleboxes drop idle connections.
  private static let heartbeat: Int64 = 15
  /// How long a stream lasts, in seconds. Then the page asks again, with a new signature.
  private static let lifetime: Int64 = 900
  /// The least time between two events that only change the number of blocked requests, in seconds. So a flood of
  /// requests does not cause a flood of events.
  private static let heldBackPause: Int64 = 1

  private let replies: RequestReplies
  private var core: ServiceCore { replies.core }
  private let verified: VerifiedStatement
  private let watch: ChangeBoard.Watch
  private let departure: ClientDeparture
  private let end: UnixTime
  /// The last event's open sessions, each with its number of blocked requests, and the time.
  private var shownRequests: (counts: [String: Int64], at: UnixTime)?
  private var shownStatus: [UInt8]?
  private var schedule: RefreshSchedule

  init(
    replies: RequestReplies, verified: VerifiedStatement, watch: ChangeBoard.Watch,
    departure: ClientDeparture
  ) {
    self.departure = departure
    self.replies = replies
    self.verified = verified
    self.watch = watch
    end = replies.core.clock().advanced(seconds: Self.lifetime)
    schedule = RefreshSchedule(isTold: replies.core.storage.changeListener != nil)
  }

  func next() async -> [UInt8]? {
    let beat = core.clock().advanced(seconds: Self.heartbeat)
    while true {
      let now = core.clock()
      // The page is open for hours, but a look's memory must be freed.
      guard now < end else { return nil }
      if schedule.isDue(at: now) {
        let look = await apart { [departure] in
          await ClientDeparture.$current.withValue(departure) { await self.refresh(at: now) }
        }
        guard let (events, deadline) = look else { return nil }
        schedule.refreshed(at: now, deadline: deadline)
        if !events.isEmpty { return events }
      }
      if now >= beat { return Array(": \n\n".utf8) }
      let patience = min(beat, end, schedule.next ?? now).milliseconds(since: now)
      switch await watch.wake(milliseconds: patience) {
      case .change: schedule.somethingChanged()
      case .time: break
      case .end: return nil
      }
    }
  }

  /// The changes since the last look, and the next time at which a request expires; nil if the phone was revoked or the
  /// storage fails. If the storage is busy, the look is repeated later, because a new stream would cost more.
  private func refresh(at now: UnixTime) async -> (events: [UInt8], deadline: UnixTime?)? {
    do {
      guard let state = try await core.storage.pageState(of: verified.acting, at: now) else { return nil }
      let shown = replies.shown(state.requests, to: verified, at: now)
      var events: [UInt8] = []
      // An expired request is closed a moment later.
      var deadline = shown.reply.requests.map(\.secondsLeft).min().map { now.advanced(seconds: $0 + 1) }
      let counts = Dictionary(uniqueKeysWithValues: shown.reply.requests.map { ($0.session, $0.blocked ?? 0) })
      if let due = due(counts, at: now) {
        if due <= now {
          shownRequests = (counts, now)
          events += Self.event("requests", try await replies.show(shown, applied: nil, at: now).body)
        } else {
          deadline = min(deadline ?? due, due)
        }
      }
      var current = verified
      current.phone = state.phone
      let status = core.describe(current, state.account, presence: state.phone.presence, at: now).body
      if status != shownStatus {
        shownStatus = status
        events += Self.event("status", status)
      }
      return (events, deadline)
    } catch {
      core.tell(storageFailure: error)
      guard error is StorageBusy else { return nil }
      // The result of this look was not sent.
      shownRequests = nil
      return ([], core.clock().advanced(seconds: StorageBusy.pause))
    }
  }

  /// When to send these to the page: at once if requests came or went; nil if it has all of them.
  private func due(_ counts: [String: Int64], at now: UnixTime) -> UnixTime? {
    guard let shown = shownRequests, counts.keys == shown.counts.keys else { return now }
    return counts == shown.counts ? nil : shown.at.advanced(seconds: Self.heldBackPause)
  }

  /// An event. Our JSON has no line breaks.
  private static func event(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}
