/// The PAM services of a desktop: greeters, screen lockers and the administrator's dialog. Lists, not sets: the runtime
/// makes a set's type again in each process, which takes a sign-in longer than all of these comparisons.
public enum DesktopServices {
  /// The administrator's dialog: pkexec(1) and its like.
  public static let polkit = "polkit-1"

  /// Those that open no session: the administrator's dialog, and lockers of a session that is there.
  public static let sessionless = [
    "polkit-1", "swaylock", "gtklock", "i3lock", "kde", "xsecurelock", "mate-screensaver", "xfce4-screensaver",
    "physlock", "vlock",
  ]

  /// Those that ask the phone through the broker, because they do not run as root or have no network.
  public static let brokered = [
    polkit, "swaylock", "gtklock", "i3lock", "kde", "xsecurelock", "mate-screensaver", "xfce4-screensaver",
  ]

  /// Lockers that run as root, at the terminal where they were started.
  public static let rootsLockers = ["physlock", "vlock"]

  /// Processes that run while the screen is locked, and at no other time. swaylock and gtklock leave logind's LockedHint
  /// alone, and so does swayidle(1), which starts them.
  public static let runOnlyWhileLocked = ["swaylock", "gtklock", "i3lock", "xsecurelock"]

  /// Lockers that lock if logind asks, leave logind's LockedHint alone, and run all the time.
  public static let silentLockers = ["mate-screensaver", "xfce4-screensaver"]

  /// Further lockers by their PAM services. Nobody has looked at what they tell logind.
  public static let untriedLockers = [
    "budgie-screensaver", "cinnamon-screensaver", "gnome-screensaver", "hyprlock", "waylock", "xlock", "xscreensaver",
  ]

  /// Lockers that show none of PAM's lines, match codes included.
  public static let mute = ["swaylock", "i3lock"]

  private static let greeterNames = ["gdm-password", "lightdm", "sddm", "greetd"]

  /// Whether somebody signs in to a desktop by this service, whose keyring then opens.
  public static func isGreeter(_ service: String) -> Bool { isGDM(service) || greeterNames.contains(service) }

  /// Stands for ``all`` in `services`.
  public static let group = "@desktop"

  /// Greeters, lockers and the administrator's dialog, in the order of their listing.
  public static let all =
    greeterNames + [polkit] + sessionless.filter { $0 != polkit }.sorted()

  /// Names with ``group`` replaced by what it stands for.
  public static func expanded(_ names: [String]) -> [String] {
    var found: [String] = []
    for name in names.flatMap({ $0 == group ? all : [$0] }) where !found.contains(name) { found.append(name) }
    return found
  }

  /// Whether GDM asks: `gdm-password`, and its like for other ways to sign in.
  ///
  /// - Parameter service: PAM_SERVICE, as the host set it.
  public static func isGDM(_ service: String) -> Bool { service.hasPrefix("gdm-") }

  /// Whether a program with this PAM service is known to open a locked screen. GDM uses one service for signing in and
  /// for unlocking.
  public static func unlocks(_ service: String) -> Bool {
    isGDM(service) || (service != polkit && sessionless.contains(service))
  }
}
