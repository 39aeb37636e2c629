import DeviceProtocol
import GRDB
import IAMPASSProtocol

/// The phone leaves or comes back, and its sessions with it.
struct PresenceReplies: Sendable {
  let core: ServiceCore

  func change(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.leave, .return]) { verified, ask in
      let presence: Presence = ask.purpose == .leave ? .away : .present
      let now = core.clock()
      let moved = try await core.storage.write { try Self.store(presence, of: verified, at: now, in: $0) }
      guard let moved else { return Refusal.cutOff.reply }
      core.announceMoves(of: moved)
      // Only after the change: a silent phone that says it leaves must not be back for a moment.
      try await core.heard(verified.phone, call)
      return try await core.describe(verified, presence: presence, at: now)
    }
  }

  /// The sessions that moved; nil if the phone was cut off meanwhile.
  private static func store(
    _ presence: Presence, of verified: VerifiedStatement, at now: UnixTime, in db: Database
  ) throws -> [Session]? {
    guard try verified.isLive(in: db) else { return nil }
    try verified.phone.set(presence, in: db)
    let walksAway = try ApplicationSettings.ofUser(verified.user, in: db).walkaway
    // A phone that returns brings its sessions back, even if walking away was switched off meanwhile.
    guard walksAway || presence == .present else { return [] }
    return try Session.move(all: verified.user, to: presence, at: now, in: db)
  }
}
