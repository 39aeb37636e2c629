import IAMPASSProtocol

/// Computers that join: each asks again until an administrator has decided.
struct JoinReplies: Sendable {
  /// Milliseconds until another look at a held request: an administrator may decide by a command, in another process.
  private static let refreshInterval: Int64 = 1_000
  /// Milliseconds between two looks of all computers that wait together. An image may be started on a thousand at once, long
  /// before somebody decides, and sign-ins have to go on.
  private static let commonInterval: Int64 = 10

  /// The same for one of so many that wait.
  static func interval(of waiting: Int) -> Int64 { max(refreshInterval, Int64(waiting) * commonInterval) }

  let core: ServiceCore
  let phones: JoinPhones

  func reply(_ call: Call) async throws -> ServiceReply {
    try await AuditActor.$current.withValue(.newcomer) { try await attend(call) }
  }

  private func attend(_ call: Call) async throws -> ServiceReply {
    guard let request = try? JoinRequest(parsing: call.request.body) else { return .refused(.badRequest) }
    let ask = ReceivedJoinRequest(request: request, address: call.client.text)
    let wait = call.request.preferredWait(longest: HeldReply.usualWait)
    let end = core.clock().advanced(seconds: wait ?? 0)
    let watch = core.board.watch(.joining(name: request.name, mark: JoinCode.mark(of: request.secret)))
    if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
    let poll: HeldReply.Poll = { isLast in
      let now = core.clock()
      var verdict = try await core.storage.join(ask, at: now)
      if case .waiting(let id) = verdict, try await phones.attend(id, call) {
        verdict = try await core.storage.join(ask, at: now)
      }
      let patience = end.milliseconds(since: now)
      if case .waiting = verdict, !isLast, patience > 0 {
        return .nothingYet(milliseconds: min(patience, Self.interval(of: core.board.joiningCount)))
      }
      let reply = try await reply(to: verdict)
      return .reply(wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply)
    }
    switch try await poll(false) {
    case .reply(let reply): return reply
    case .nothingYet(let patience): return ServiceReply(holding: HeldReply(watch, patience: patience, poll: poll))
    }
  }

  private func reply(to verdict: JoinVerdict) async throws -> ServiceReply {
    switch verdict {
    case .waiting: return ServiceReply(202, JoinReply.waiting.encoded())
    case .joined(let credential, let application, let code):
      var fleet: FleetAnchor?
      if let number = code.setNumber {
        fleet = try await core.storage.seeSigning { try $0.set(number) }.flatMap { code.fleet($0.set) }
      }
      let reply = JoinReply.joined(
        credential: credential.id, host: credential.host, application: application, fleet: fleet)
      return ServiceReply(200, reply.encoded())
    case .refused(let reason): return .refused(reason, as: reason == .unknownJoinCode ? 404 : 403)
    }
  }
}
