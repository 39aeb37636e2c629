import HostSystem

/// Which locked screens ask the phone although `services` does not list their PAM service: `unlock` of `iampass.conf`.
public enum UnlockPolicy: String, Sendable, CaseIterable {
  /// No screens: only `services` decides.
  case off
  /// Screens that the helper locked because the phone left, until the phone has approved once.
  case walkaway
  /// All screens that ``UnlockRule`` knows to be locked.
  case approved
}

/// Whether a sign-in opens a locked screen, and so asks the phone by ``UnlockPolicy``.
///
/// It does not open a screen by itself: the program that asks gets the phone's approval.
public struct UnlockRule: Sendable {
  /// The program that asks.
  public enum Caller: Sendable, Equatable {
    /// A program of the user, and the units that the kernel says it runs in.
    case user(ProcessUnits)
    /// A program of root, and the seat that it names (`XDG_SEAT` in PAM's environment).
    case root(seat: String?)
  }

  public let policy: UnlockPolicy

  public init(_ policy: UnlockPolicy) { self.policy = policy }

  /// The session whose screen is opened; nil if the phone is not asked.
  ///
  /// - Parameters:
  ///   - service: the program's PAM_SERVICE.
  ///   - uid: the user who asks, or whom root names.
  ///   - sessions: the sessions in logind's files.
  ///   - away: the screens that the helper locked because a phone left.
  public func session(
    opensFor service: String, of uid: UInt32, by caller: Caller, in sessions: [LogindSession], away: [AwayLock]
  ) -> LogindSession? {
    guard policy != .off, service != DesktopServices.polkit, caller.mayUnlock(service) else { return nil }
    return sessions.first { session in
      guard session.isInFront(of: uid), caller.belongs(to: session) else { return false }
      return switch policy {
      case .off: false
      case .walkaway: away.contains { $0.isOf(session) }
      case .approved: DesktopServices.unlocks(service) || away.contains { $0.isOf(session) }
      }
    }
  }
}

extension UnlockRule.Caller {
  /// Root's programs ask for many purposes, so only those that are known to unlock count. GDM uses one service to sign
  /// in and to unlock, also for a remote screen, which has no seat. A user's program may name any service, because the
  /// screen that the helper locked may have a locker that is not in the table.
  fileprivate func mayUnlock(_ service: String) -> Bool {
    switch self {
    case .user: true
    case .root(let seat):
      DesktopServices.isGDM(service) ? seat != nil : DesktopServices.isRootsLocker(service)
    }
  }

  /// Whether the program belongs to this session. Lockers of GNOME and KDE run in the user's service manager. Root's
  /// programs run outside the session, and must not name another seat.
  public func belongs(to session: LogindSession) -> Bool {
    switch self {
    case .user(let units):
      units.session == ProcessUnits.Session(id: session.id, uid: session.uid) || units.managerUID == session.uid
    case .root(let seat): seat == nil || seat == session.seat
    }
  }
}

extension LogindSession {
  /// Whether this is a local session of the user that is now in front at its seat.
  public func isInFront(of uid: UInt32) -> Bool {
    self.uid == uid && isActive && isSignIn && !isRemote && !isClosing
  }
}
