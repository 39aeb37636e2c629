import IAMPASSProtocol

/// What a computer says.
struct JoinAsk: Sendable {
  let request: JoinRequest
  let address: String

  var codeDigest: String { JoinCode.digest(of: request.code) }
  var secretDigest: String { JoinCode.digest(of: request.secret) }
}

/// What a join depends on, as it is stored.
struct JoinFacts: Sendable {
  struct Known: Sendable {
    let id: String
    let state: Joining.State
    /// Nil unless it joined, and if its credential is gone or revoked.
    let credential: HostCredential?
  }

  /// Nil for a code that nobody made.
  let code: StoredJoinCode?
  /// The application's name.
  let application: String
  /// How many computers have asked by it. One that an administrator refused counts, too: the code is in wrong hands.
  let used: Int64
  /// What became of the same computer's ask before; nil if this is its first.
  let known: Known?
  /// A usable credential of the application has the name or shows it as its host, or another computer waits under it.
  let isNameTaken: Bool

  /// What the computer is told if nothing is to be stored; nil otherwise.
  func verdict(at now: UnixTime) -> JoinVerdict? {
    switch JoinRule.decide(self, at: now) {
    case .refuse(let reason): .refused(reason)
    case .wait: .waiting(known?.id ?? "")
    case .confirm:
      if let credential = known?.credential, let code {
        .joined(credential, application: application, code)
      } else {
        .refused(.credentialRevoked)
      }
    case .store: nil
    }
  }
}

enum JoinVerdict: Sendable {
  /// With the join's id.
  case waiting(String)
  /// With the application's name.
  case joined(HostCredential, application: String, StoredJoinCode)
  case refused(Reason)
}

/// What follows from an ask and the facts. Engines store it in the step in which they read the facts.
enum JoinRule: Equatable {
  case refuse(Reason)
  /// Nothing changes.
  case wait
  case confirm
  /// It is new: it has to wait, or joins at once.
  case store

  static func decide(_ facts: JoinFacts, at now: UnixTime) -> JoinRule {
    guard let code = facts.code else { return .refuse(.unknownJoinCode) }
    switch facts.known?.state {
    case .refused: return .refuse(.joinRefused)
    // It may have joined long ago, and ask again since it never heard of it.
    case .joined: return facts.known?.credential == nil ? .refuse(.credentialRevoked) : .confirm
    case .waiting, nil: break
    }
    guard code.revokedAt == nil else { return .refuse(.joinCodeRevoked) }
    guard now < code.expiresAt else { return .refuse(.joinCodeExpired) }
    guard facts.known == nil else { return .wait }
    guard facts.used < code.uses else { return .refuse(.joinCodeUsed) }
    guard !facts.isNameTaken else { return .refuse(.computerNameTaken) }
    return .store
  }
}
