/// The service's status words for a session, by its documentation ("Get session status").
public enum SessionStatus: Sendable, Equatable {
  /// The phone has received the request.
  case pending
  /// The user has opened the request on the phone.
  case identifying
  case active
  /// The phone left. The session may become `active` again.
  case walkaway
  case timeout
  case closed
  case failed
  /// Denied on the phone.
  case cancelled
  /// A word that this version does not know. It never counts as approved or live.
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
