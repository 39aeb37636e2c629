/// A row of ``ServiceTable``: the facts about one PAM service.
public struct ServiceRow: Sendable, Equatable {
  /// What the service is for.
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
    /// Runs a command for users who prove who they are.
    case sudoLike
    /// Runs a command for users who prove that they are the target user.
    case suLike
    /// Makes root a user, without asking.
    case rootsOwn
    /// Runs unattended jobs.
    case job
  }

  /// Which rights the program has.
  public enum Caller: Sendable, Equatable {
    case root
    /// The program asks the phone through the broker, because it does not run as root or has no network.
    case user
  }

  /// What users see of PAM's conversation while they wait for the phone.
  public enum Shows: String, Sendable, CaseIterable {
    /// Lines of text, match codes included.
    case text
    /// Prompts alone. Lines of text appear with the next prompt, or never.
    case prompts
    /// Neither lines nor prompts: the user could not read a match code.
    case nothing
  }

  /// How the helper sees that a locker has locked.
  public enum LockSign: Sendable, Equatable {
    /// There is no further sign: the locker sets logind's LockedHint, or the service does not lock screens.
    case usual
    /// The locker runs only while the screen is locked. Neither it nor swayidle(1), which starts it, sets logind's
    /// LockedHint.
    case runs
    /// There is no sign: the locker locks if logind asks, but does not set logind's LockedHint, and runs all the time.
    case silent
    /// It was not tested what the locker tells logind.
    case untried
  }

  /// PAM_SERVICE; with ``asksAs`` the program's own name.
  public let name: String
  public let kind: Kind
  public let caller: Caller
  public let shows: Shows
  public let lockSign: LockSign
  /// Whether the program sets its own resource limits, whatever the caller's are.
  public let hasOwnLimits: Bool
  /// Whether `iampassctl check` checks the service even if `services` does not list it.
  public let isUsual: Bool
  /// PAM_SERVICE of a locker whose distributor has it ask by a name that is not its own; nil if it asks by ``name``.
  public let asksAs: String?

  init(
    _ name: String, _ kind: Kind, by caller: Caller = .root, shows: Shows = .text, lockSign: LockSign = .usual,
    hasOwnLimits: Bool = false, isUsual: Bool = false, asksAs: String? = nil
  ) {
    self.name = name
    self.kind = kind
    self.caller = caller
    self.shows = shows
    self.lockSign = lockSign
    self.hasOwnLimits = hasOwnLimits
    self.isUsual = isUsual
    self.asksAs = asksAs
  }

  /// Whether the service opens a session that the helper watches. An untested locker counts as one that does.
  public var opensSession: Bool {
    switch kind {
    case .greeter, .ssh, .console, .job: true
    case .locker: lockSign == .untried
    case .dialog, .sudoLike, .suLike, .rootsOwn: false
    }
  }

  /// Whether the phone is asked without a match code: the program cannot show one, and belongs to the very user who is
  /// asked for.
  ///
  /// Others could begin a request without that user's knowledge: from the network, by sudo, or as another user. For
  /// those, the digits prove that the phone's user sees the program that asks.
  ///
  /// - Parameters:
  ///   - callerUID: the program's uid, from the kernel. 0 is root, which may ask for any user.
  ///   - uid: the user who is asked for.
  public func asksWithoutCode(callerUID: UInt32, for uid: UInt32) -> Bool {
    kind == .locker && shows == .nothing && callerUID != 0 && callerUID == uid
  }

  /// Whether the service never authenticates users.
  public var asksNobody: Bool { kind == .rootsOwn || kind == .job }

  /// Whether ``DesktopServices/group`` includes the service.
  var isOfDesktop: Bool {
    switch kind {
    case .greeter, .dialog: true
    case .locker: lockSign != .untried
    case .ssh, .console, .sudoLike, .suLike, .rootsOwn, .job: false
    }
  }
}
