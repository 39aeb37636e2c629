/// What the service says of a session, by its documentation ("Get session status").
public enum SessionStatus: Sendable, Equatable {
  /// The phone was asked.
  case pending
  /// The phone was opened; the user is being identified.
  case identifying
  case active
  /// The phone left; may become `active` again.
  case walkaway
  case timeout
  case closed
  case failed
  /// Denied on the phone.
  case cancelled
  /// A word that this version does not know. Never approved, never live.
  case unknown(String)

  public init(word: String) {
    self =
      switch word {
      case "pending": .pending
      case "identifying": .identifying
      case "active": .active
      case "walkaway": .walkaway
      case "timeout": .timeout
      case "closed": .closed
      case "failed": .failed
      case "cancelled": .cancelled
      default: .unknown(word)
      }
  }

  public var word: String {
    switch self {
    case .pending: "pending"
    case .identifying: "identifying"
    case .active: "active"
    case .walkaway: "walkaway"
    case .timeout: "timeout"
    case .closed: "closed"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .unknown(let word): word
    }
  }

  /// Whether the session may still become or be `active`.
  public var isLive: Bool {
    switch self {
    case .pending, .identifying, .active, .walkaway: true
    case .timeout, .closed, .failed, .cancelled, .unknown: false
    }
  }
}

/// How the phone may be asked to identify its user.
public enum AuthenticationMethod: String, Sendable, CaseIterable {
  /// A tap.
  case acceptance
  /// The phone must be unlocked.
  case device
  case facial
}
