import HostSystem

/// Which locked screens ask the phone although `services` does not list their PAM service: `unlock` of `iampass.conf`.
public enum UnlockPolicy: String, Sendable, CaseIterable {
  /// None: `services` alone decides.
  case off
  /// Those that the helper locked because the phone left, until the phone has approved once.
  case walkaway
  /// All that ``UnlockRule`` knows as locked.
  case approved
}

/// Whether a sign-in opens a locked screen, and so asks the phone by ``UnlockPolicy``.
///
/// It opens nothing by itself: the phone's approval is asked for, and goes to the program that asked.
public struct UnlockRule: Sendable {
  /// The program that asks.
  public enum Caller: Sendable, Equatable {
    /// A program of the user's own, and where the kernel says that the program runs.
    case user(ProcessUnits)
    /// A program of root's, and the seat that it names (`XDG_SEAT` of PAM's environment).
    case root(seat: String?)
  }

  public let policy: UnlockPolicy

  public init(_ policy: UnlockPolicy) { self.policy = policy }

  /// The session whose screen is opened; nil if the phone is not asked.
  ///
  /// - Parameters:
  ///   - service: PAM_SERVICE, as the program has it.
  ///   - uid: the user who asks for themselves, or whom root names.
  ///   - sessions: what logind wrote down.
  ///   - away: what the helper locked because a phone left.
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
  /// Root's programs ask for many things: only those that are known to unlock count. GDM signs in by the same service
  /// that unlocks, also for a screen elsewhere, which has no seat. A user's program can name any service, and the
  /// helper's note may be of a locker that nobody knows here.
  fileprivate func mayUnlock(_ service: String) -> Bool {
    switch self {
    case .user: true
    case .root(let seat):
      DesktopServices.isGDM(service) ? seat != nil : DesktopServices.isRootsLocker(service)
    }
  }

  /// Whether the program stands in this session. Lockers of GNOME and KDE run in the user's service manager. Root's
  /// programs run elsewhere, and must not name another seat.
  public func belongs(to session: LogindSession) -> Bool {
    switch self {
    case .user(let units):
      units.session == ProcessUnits.Session(id: session.id, uid: session.uid) || units.managerUID == session.uid
    case .root(let seat): seat == nil || seat == session.seat
    }
  }
}

extension LogindSession {
  /// Whether this is a local session of the user's that is on the screen just now.
  public func isInFront(of uid: UInt32) -> Bool {
    self.uid == uid && isActive && isSignIn && !isRemote && !isClosing
  }
}

extension Configuration {
  /// The listed services, and the lockers that ask the phone by ``unlock``.
  public var servicesThatMayAsk: [String] {
    unlock == .off
      ? services : DesktopServices.expanded(services + DesktopServices.all.filter(DesktopServices.unlocks))
  }
}
