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
    /// A program of root, the seat that it names (`XDG_SEAT` in PAM's environment), and the screen of X at which it
    /// asks (PAM_TTY, such as `:1`).
    case root(seat: String?, screen: String? = nil)
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
    return caller.screens(of: uid, by: service, in: sessions).first { session in
      switch policy {
      case .off: false
      case .walkaway: away.contains { $0.isOf(session) }
      case .approved: caller.isKnown(service) || away.contains { $0.isOf(session) }
      }
    }
  }
}

extension UnlockRule.Caller {
  /// Root's programs ask for many purposes, so only those that are known to unlock count. GDM and lightdm use one service
  /// to sign in and to unlock, also for a remote screen, which has no seat. A user's program may name any service, because
  /// the screen that the helper locked may have a locker that is not in the table.
  fileprivate func mayUnlock(_ service: String) -> Bool {
    switch self {
    case .user: true
    case .root(let seat, _):
      DesktopServices.isGDM(service)
        ? seat != nil : DesktopServices.isGreeter(service) || DesktopServices.isRootsLocker(service)
    }
  }

  /// Whether the program opens locked screens, whoever locked them.
  fileprivate func isKnown(_ service: String) -> Bool {
    switch self {
    case .user: DesktopServices.unlocks(service)
    case .root: mayUnlock(service)
    }
  }

  /// The user's sessions whose screen the program opens if it is approved.
  ///
  /// GDM's lock screen is a part of the session. Another greeter has a session of its own, which is in front: lightdm
  /// opens no second session for a user at a seat, but goes back to the first. It names no seat, so that logind's session
  /// of the greeter shows which one it is. SDDM and greetd name no screen.
  ///
  /// - Parameters:
  ///   - uid: the user who asks, or whom root names.
  ///   - service: the program's PAM_SERVICE.
  ///   - sessions: the sessions in logind's files.
  fileprivate func screens(of uid: UInt32, by service: String, in sessions: [LogindSession]) -> [LogindSession] {
    guard case .root(_, let named) = self, DesktopServices.isGreeter(service), !DesktopServices.isGDM(service) else {
      return sessions.filter { $0.isInFront(of: uid) && belongs(to: $0) }
    }
    guard let screen = named, let greeter = sessions.first(where: { $0.isGreeter(at: screen) }) else { return [] }
    return sessions.filter { $0.isOf(uid, openedBy: service) && $0.seat == greeter.seat }
  }

  /// Whether the program belongs to this session. Lockers of GNOME and KDE run in the user's service manager. Root's
  /// programs run outside the session, and must not name another seat.
  public func belongs(to session: LogindSession) -> Bool {
    switch self {
    case .user(let units):
      units.session == ProcessUnits.Session(id: session.id, uid: session.uid) || units.managerUID == session.uid
    case .root(let seat, _): seat == nil || seat == session.seat
    }
  }
}

extension LogindSession {
  /// Whether this is a local session of the user that is now in front at its seat.
  public func isInFront(of uid: UInt32) -> Bool {
    self.uid == uid && isActive && isSignIn && !isRemote && !isClosing
  }

  /// Whether this is the user's session at a seat of this computer, and a greeter with this PAM service opened it.
  ///
  /// - Parameter service: PAM_SERVICE of the greeter. lightdm has another for users whom it signs in by itself.
  public func isOf(_ uid: UInt32, openedBy service: String) -> Bool {
    self.uid == uid && isAtSeat && (self.service == service || self.service == "\(service)-autologin")
  }

  /// Whether this is the session of a greeter that is now in front at a seat of this computer, on this screen of X.
  fileprivate func isGreeter(at screen: String) -> Bool {
    sessionClass == "greeter" && isActive && !isRemote && !isClosing && !seat.isEmpty && display == screen
  }
}
