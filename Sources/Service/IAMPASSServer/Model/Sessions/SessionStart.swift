/// What became of a computer's start of a sign-in session.
struct SessionStart: Sendable {
  enum Outcome: Sendable {
    case not(StartPolicy.Obstacle)
    /// `isRung`: the phone comes to know by itself.
    case started(Session, isRung: Bool)
    /// The same start was taken before, by this session.
    case begun(Session, isRung: Bool)
  }

  /// What the computer's boot means for its sessions; nil without a signed boot and a host credential.
  let boot: HostBoot.Finding?
  let outcome: Outcome
}
