import DeviceProtocol
import IAMPASSProtocol

/// An app that recognizes its user's face offers the method `facial`, if its application lets apps vouch for that. Only
/// the app vouches for it: an answer does not prove a face.
struct FaceReplies: Sendable {
  let core: ServiceCore

  func change(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.face, .noFace]) { verified, ask in
      let now = core.clock()
      let refusal = try await core.storage.keepFace(ask.purpose == .face, of: verified.acting, at: now) { phone in
        guard phone.isLive else { return .cutOff }
        // Withdrawing is always allowed.
        guard ask.purpose == .noFace || phone.mayVouchForFace else {
          return Refusal(.methodNotAvailable)
        }
        return nil
      }
      if let refusal { return refusal.reply }
      try await core.markSeen(verified.phone, call)
      core.board.changed(.user(verified.user))
      return try await core.describe(verified, presence: verified.phone.presence, at: now)
    }
  }
}
