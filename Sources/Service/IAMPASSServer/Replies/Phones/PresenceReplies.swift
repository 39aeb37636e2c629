import DeviceProtocol
import IAMPASSProtocol

/// Replies to phones that leave, come back, or report that their page is visible.
struct PresenceReplies: Sendable {
  let core: ServiceCore

  func change(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.leave, .return]) { verified, ask in
      let presence: Presence = ask.purpose == .leave ? .away : .present
      let now = core.clock()
      let moved = try await core.storage.setPresence(presence, of: verified.acting, at: now)
      guard let moved else { return Refusal.cutOff.reply }
      core.announceMoves(of: moved)
      core.board.changed(.user(verified.user))
      // This comes after the change: a silent phone that leaves must not count as back for a moment.
      try await core.markSeen(verified.phone, call)
      return try await core.describe(verified, presence: presence, at: now)
    }
  }

  /// Notes that the phone's page is visible. This does not change sessions: a page cannot report that its phone leaves.
  func look(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.look]) { verified, _ in
      try await core.storage.notePageView(of: verified.acting, at: core.clock())
      return .done
    }
  }
}
