/// The PAM services of a desktop: greeters, screen lockers and the administrator's dialog, by ``ServiceTable``.
public enum DesktopServices {
  /// The administrator's dialog.
  public static let polkit = "polkit-1"

  /// The name that stands for ``all`` in `services`.
  public static let group = "@desktop"

  /// Greeters, the administrator's dialog and lockers, in the order of their listing.
  public static var all: [String] { names(of: .greeter) + names(of: .dialog) + names(of: .locker) }

  private static func names(of kind: ServiceRow.Kind) -> [String] {
    ServiceTable.names { $0.kind == kind && $0.isOfDesktop }
  }

  /// Further lockers. It was not tested what they tell logind.
  public static var untriedLockers: [String] { ServiceTable.names { $0.lockSign == .untried } }

  /// Whether ``group`` stands for the service.
  public static func contains(_ service: String) -> Bool { ServiceTable.row(service)?.isOfDesktop == true }

  /// The names, with ``group`` replaced by its services.
  public static func expanded(_ names: [String]) -> [String] {
    var found: [String] = []
    for name in names.flatMap({ $0 == group ? all : [$0] }) where !found.contains(name) { found.append(name) }
    return found
  }

  /// Whether the service asks the phone through the broker.
  public static func asksBroker(_ service: String) -> Bool {
    ServiceTable.row(service).map { $0.isOfDesktop && $0.caller == .user } ?? false
  }

  /// Whether GDM asks: `gdm-password`, or a service for another way to sign in.
  ///
  /// - Parameter service: PAM_SERVICE, as the host set it.
  public static func isGDM(_ service: String) -> Bool { service.hasPrefix("gdm-") }

  /// Whether users sign in to a desktop by this service. Their keyring then opens.
  public static func isGreeter(_ service: String) -> Bool {
    isGDM(service) || ServiceTable.row(service)?.kind == .greeter
  }

  /// Whether a program with this PAM service is known to open a locked screen. GDM uses one service for signing in and
  /// for unlocking.
  public static func unlocks(_ service: String) -> Bool { isGDM(service) || isLocker(service) }

  /// Whether the service is a locker that opens no session.
  public static func isLocker(_ service: String) -> Bool {
    ServiceTable.row(service).map { $0.kind == .locker && $0.isOfDesktop } ?? false
  }

  /// Whether the service is a locker that runs as root, at the terminal where it was started.
  public static func isRootsLocker(_ service: String) -> Bool {
    isLocker(service) && ServiceTable.row(service)?.caller == .root
  }
}
