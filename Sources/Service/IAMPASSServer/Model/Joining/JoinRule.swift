import IAMPASSProtocol

/// A computer's request to join.
struct ReceivedJoinRequest: Sendable {
  let request: JoinRequest
  let address: String

  var codeDigest: String { JoinCode.digest(of: request.code) }
  var secretDigest: String { JoinCode.digest(of: request.secret) }
}

/// The stored data that a join depends on.
struct JoinFacts: Sendable {
  struct Known: Sendable {
    let id: String
    let state: Joining.State
    /// The computer's credential; nil if it has not joined, or if its credential is gone or revoked.
    let credential: KnownCredential?
  }

  /// The code; nil if it does not exist.
  let code: StoredJoinCode?
  /// The application's name.
  let application: String
  /// The number of computers that have used the code; 0 if this one is known. A computer that an administrator refused
  /// counts too: the code is in wrong hands.
  let used: Int64
  /// The result of the same computer's earlier request; nil if this is its first.
  let known: Known?
  /// Whether a usable credential of the application has the name or shows it as its host, or another computer waits
  /// under this name; false if this one is known.
  let isNameTaken: Bool

  /// The reply to the computer if nothing must be stored; nil otherwise.
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
  /// The computer waits. Has the join's id.
  case waiting(String)
  /// The computer has joined. Has the application's name.
  case joined(KnownCredential, application: String, StoredJoinCode)
  case refused(Reason)
}

/// The decision from a request and the facts. Engines store it in the transaction in which they read the facts.
enum JoinRule: Equatable {
  case refuse(Reason)
  /// The computer still waits, and nothing changes.
  case wait
  case confirm
  /// The computer is new: it must wait, or joins at once.
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
