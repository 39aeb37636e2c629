/// What is known of one PAM service: a row of ``ServiceTable``.
public struct ServiceRow: Sendable, Equatable {
  /// What people do by the service.
  public enum Kind: Sendable, Equatable {
    /// Signs in to a desktop.
    case greeter
    /// Opens a locked screen.
    case locker
    /// The administrator's dialog: pkexec(1) and its like.
    case dialog
    case ssh
    /// Signs in at a terminal.
    case console
    /// Runs a command for users who show who they are.
    case sudoLike
    /// The same for users who show that they are another.
    case suLike
    /// Root becomes a user, and nobody is asked.
    case rootsOwn
    /// Work that runs while nobody is there.
    case job
  }

  /// Whose rights the program has.
  public enum Caller: Sendable, Equatable {
    case root
    /// It asks the phone through the broker, because it does not run as root or has no network.
    case user
  }

  /// What people see of PAM's conversation while they wait for the phone.
  public enum Shows: String, Sendable, CaseIterable {
    /// Lines of text, match codes included.
    case text
    /// Prompts alone. Lines of text wait for the next one, or are never seen.
    case prompts
    /// Neither: nobody could read a match code there.
    case nothing
  }

  /// How the helper sees that a locker has locked.
  public enum LockSign: Sendable, Equatable {
    /// Not looked for: the locker sets logind's LockedHint, or the service locks no session's screen.
    case usual
    /// The locker leaves logind's LockedHint alone, and so does swayidle(1), which starts it. It runs while the screen
    /// is locked, and at no other time.
    case runs
    /// The locker locks if logind asks, leaves logind's LockedHint alone, and runs all the time.
    case silent
    /// Nobody has looked at what the locker tells logind.
    case untried
  }

  /// PAM_SERVICE.
  public let name: String
  public let kind: Kind
  public let caller: Caller
  public let shows: Shows
  public let lockSign: LockSign
  /// Whether the program begins with limits of its own, whatever the caller's are.
  public let hasOwnLimits: Bool
  /// Whether `iampassctl check` looks at it also if `services` does not list it.
  public let isUsual: Bool

  init(
    _ name: String, _ kind: Kind, by caller: Caller = .root, shows: Shows = .text, lockSign: LockSign = .usual,
    hasOwnLimits: Bool = false, isUsual: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.caller = caller
    self.shows = shows
    self.lockSign = lockSign
    self.hasOwnLimits = hasOwnLimits
    self.isUsual = isUsual
  }

  /// Whether the service opens a session that the helper watches. A locker of which nobody knows counts as one that does.
  public var opensSession: Bool {
    switch kind {
    case .greeter, .ssh, .console, .job: true
    case .locker: lockSign == .untried
    case .dialog, .sudoLike, .suLike, .rootsOwn: false
    }
  }

  /// Whether the phone is asked without a match code: a program that can show none, of the very user who is asked for.
  ///
  /// Others could begin a request without that user's knowledge: from the network, by sudo, or as another user. There the
  /// digits show that the phone's user looks at the program that asks.
  ///
  /// - Parameters:
  ///   - callerUID: of the program, as the kernel says. 0 is root, which asks for anybody.
  ///   - uid: the user who is asked for.
  public func asksWithoutCode(callerUID: UInt32, for uid: UInt32) -> Bool {
    kind == .locker && shows == .nothing && callerUID != 0 && callerUID == uid
  }

  /// Whether the service never asks who somebody is.
  public var asksNobody: Bool { kind == .rootsOwn || kind == .job }

  /// Whether ``DesktopServices/group`` stands for it.
  var isOfDesktop: Bool {
    switch kind {
    case .greeter, .dialog: true
    case .locker: lockSign != .untried
    case .ssh, .console, .sudoLike, .suLike, .rootsOwn, .job: false
    }
  }
}
