import DeviceProtocol
import IAMPASSProtocol

/// What a reply goes on with for as long as there is news. One task asks for one piece after the other.
protocol EventSource: Actor {
  /// The next piece; nil at the end.
  func next() async -> [UInt8]?
}

extension Service {
  /// A stream of what a phone's page shows (server-sent events), from its state now to each change of it.
  func streamEvents(_ call: Call) async throws -> ServiceReply {
    switch try await deviceCheck.ask(in: call, purposes: [.events]) {
    case .refused(let reply): return reply
    case .verified(let (verified, _)):
      if !verified.phone.hasPage { try await storage.write { try Phone.markPage(verified.phone.id, in: $0) } }
      let watch = board.watch(.user(verified.user))
      board.keepNewest(DeviceEvents.greatestCount, of: .user(verified.user))
      call.request.onDeparture { [weak watch] in watch?.abandon() }
      return ServiceReply(streaming: DeviceEvents(service: self, verified: verified, watch: watch))
    }
  }
}

/// One page's stream.
actor DeviceEvents: EventSource {
  /// Held replies of one user's phone; a page that lost its network leaves some behind. The oldest end first.
  static let greatestCount = 6
  /// How long a stream is silent at most, in seconds: middle boxes forget idle connections.
  private static let heartbeat: Int64 = 15
  /// How long a stream lasts, in seconds: then the page asks anew, with a fresh signature.
  private static let lifetime: Int64 = 900

  private let service: Service
  private let verified: VerifiedStatement
  private let watch: ChangeBoard.Watch
  private let end: UnixTime
  private var shownRequests: Set<String>?
  private var shownStatus: [UInt8]?

  init(service: Service, verified: VerifiedStatement, watch: ChangeBoard.Watch) {
    self.service = service
    self.verified = verified
    self.watch = watch
    end = service.clock().advanced(seconds: Self.lifetime)
  }

  func next() async -> [UInt8]? {
    let beat = service.clock().advanced(seconds: Self.heartbeat)
    while true {
      let now = service.clock()
      guard now < end, let (news, deadline) = await look(at: now) else { return nil }
      if !news.isEmpty { return news }
      if now >= beat { return Array(": \n\n".utf8) }
      let patience = min(beat, end, deadline ?? end).milliseconds(since: now)
      guard await watch.wait(milliseconds: patience) else { return nil }
    }
  }

  /// What has changed since the last look, and when time alone changes something; nil where the phone was cut off.
  private func look(at now: UnixTime) async -> (news: [UInt8], deadline: UnixTime?)? {
    do {
      guard let open = try await service.openRequests(of: verified, at: now),
        let phone = try await service.storage.read({ [id = verified.phone.id] in try Phone.find(id, in: $0) })
      else { return nil }
      var news: [UInt8] = []
      let sessions = Set(open.map(\.session))
      if sessions != shownRequests {
        shownRequests = sessions
        news += Self.event("requests", try await service.show(open, of: verified.user, applied: nil, at: now).body)
      }
      var current = verified
      current.phone = phone
      let status = try await service.describe(current, presence: phone.presence, at: now).body
      if status != shownStatus {
        shownStatus = status
        news += Self.event("status", status)
      }
      // A request whose time is over is open no more a moment later.
      return (news, open.map(\.secondsLeft).min().map { now.advanced(seconds: $0 + 1) })
    } catch {
      service.tell(storageFailure: error)
      return nil
    }
  }

  /// JSON as it is written here has no line breaks.
  private static func event(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}
