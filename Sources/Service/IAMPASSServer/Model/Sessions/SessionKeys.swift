import IAMPASSProtocol
import Synchronization

/// What a session's requests and the replies to them are signed with. It stays the same from the session's start on.
final class SessionKeys: Sendable {
  let id: String
  let token: Secret
  let replySecret: Secret
  /// For each scheme that the session's secret fits.
  let signers: [RequestSigner]

  init(_ session: Session) {
    id = session.id
    token = session.token
    replySecret = session.replySecret
    signers = RequestSigner.all(client: session.token, secret: session.secret)
  }
}

extension RequestSigner {
  /// A signer for each scheme that the secret fits.
  static func all(client: Secret, secret: Secret) -> [RequestSigner] {
    SigningScheme.allCases.compactMap { try? RequestSigner(client: client, secret: secret, scheme: $0) }
  }
}

/// The keys of sessions whose clients asked lately, in memory.
final class KnownSessionKeys: Sendable {
  /// Each takes about half a kilobyte.
  static let greatestCount = 10_000

  private let known = Mutex<[String: SessionKeys]>([:])

  subscript(_ id: String) -> SessionKeys? { known.withLock { $0[id] } }

  func keep(_ keys: SessionKeys) {
    known.withLock { known in
      // Those that are still asked for come back by themselves.
      if known.count >= Self.greatestCount { known.removeAll(keepingCapacity: true) }
      known[keys.id] = keys
    }
  }
}
