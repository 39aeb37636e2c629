import DeviceProtocol
import IAMPASSProtocol

/// The phone leaves or comes back, and its sessions with it; or its page is looked at.
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
      // Only after the change: a silent phone that says it leaves must not be back for a moment.
      try await core.heard(verified.phone, call)
      return try await core.describe(verified, presence: presence, at: now)
    }
  }

  /// The phone's page is in view. This moves no session: a page says nothing when its phone leaves.
  func look(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.look]) { verified, _ in
      try await core.storage.noteLook(of: verified.acting, at: core.clock())
      return .done
    }
  }
}
