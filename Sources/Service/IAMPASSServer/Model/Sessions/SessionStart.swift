/// The result of a computer's start of a service session.
struct SessionStart: Sendable {
  enum Outcome: Sendable {
    case not(StartPolicy.Obstacle)
    /// The session was started. `isRung`: whether the phone gets to know of it by itself.
    case started(Session, isRung: Bool)
    /// The same start was already taken, as this session.
    case begun(Session, isRung: Bool)

    /// Nil if none was started.
    var session: Session? {
      switch self {
      case .not: nil
      case .started(let session, _), .begun(let session, _): session
      }
    }
  }

  /// The effect of the computer's boot on its sessions; nil without a signed boot and a host credential.
  let boot: HostBoot.Finding?
  let outcome: Outcome
  /// The user's requests that could not be read, and have ended now.
  let ended: [Session]
  /// The sessions that this has made or changed, by their ids; nil: any may have changed.
  var changed: [String]?
}
