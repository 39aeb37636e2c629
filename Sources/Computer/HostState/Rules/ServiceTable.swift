import HostSystem

/// The known PAM services, one row each. The module, the helper, the broker and `iampassctl` all use this table.
///
/// It is a list, and not a set or a dictionary. The runtime builds their types in each process, which takes a sign-in
/// longer than these comparisons.
public enum ServiceTable {
  public static let rows = [
    ServiceRow("sudo", .sudoLike, hasOwnLimits: true, isUsual: true),
    ServiceRow("sudo-i", .sudoLike, hasOwnLimits: true, isUsual: true),
    ServiceRow("doas", .sudoLike),
    ServiceRow("login", .console, hasOwnLimits: true, isUsual: true),
    // OpenSSH up to 10.2 delays lines of text until the next prompt.
    ServiceRow(SSHServer.usualService, .ssh, shows: .prompts, hasOwnLimits: true, isUsual: true),
    ServiceRow("su", .suLike, isUsual: true),
    ServiceRow("su-l", .suLike),
    ServiceRow("polkit-1", .dialog, by: .user, isUsual: true),
    ServiceRow("gdm-password", .greeter, hasOwnLimits: true, isUsual: true),
    ServiceRow("lightdm", .greeter, hasOwnLimits: true, isUsual: true),
    ServiceRow("sddm", .greeter, hasOwnLimits: true),
    ServiceRow("greetd", .greeter, hasOwnLimits: true),
    ServiceRow("gtklock", .locker, by: .user, lockSign: .runs),
    ServiceRow("i3lock", .locker, by: .user, shows: .nothing, lockSign: .runs),
    ServiceRow("kde", .locker, by: .user),
    ServiceRow("mate-screensaver", .locker, by: .user, lockSign: .silent),
    ServiceRow("physlock", .locker),
    ServiceRow("swaylock", .locker, by: .user, shows: .nothing, lockSign: .runs),
    ServiceRow("vlock", .locker),
    ServiceRow("xfce4-screensaver", .locker, by: .user, lockSign: .silent),
    // Debian's has no file of its own in /etc/pam.d.
    ServiceRow("xsecurelock", .locker, by: .user, lockSign: .runs, asksAs: "common-auth"),
    ServiceRow("budgie-screensaver", .locker, by: .user, lockSign: .untried),
    ServiceRow("cinnamon-screensaver", .locker, by: .user, lockSign: .untried),
    ServiceRow("gnome-screensaver", .locker, by: .user, lockSign: .untried),
    ServiceRow("hyprlock", .locker, by: .user, shows: .nothing, lockSign: .untried),
    ServiceRow("waylock", .locker, by: .user, shows: .nothing, lockSign: .untried),
    ServiceRow("xlock", .locker, by: .user, lockSign: .untried),
    ServiceRow("xscreensaver", .locker, by: .user, lockSign: .untried),
    ServiceRow("runuser", .rootsOwn),
    ServiceRow("runuser-l", .rootsOwn),
    ServiceRow("cron", .job),
    ServiceRow("crond", .job),
    ServiceRow("atd", .job),
    ServiceRow("systemd-user", .job),
  ]

  /// Nil for a service that is not known.
  ///
  /// - Parameter service: PAM_SERVICE, as the host set it.
  public static func row(_ service: String) -> ServiceRow? { rows.first { $0.name == service } }

  /// The name of the row whose program asks by ``ServiceRow/asksAs``; any other program's PAM_SERVICE.
  ///
  /// - Parameters:
  ///   - service: PAM_SERVICE, as the host set it.
  ///   - isUsersOwn: the program has the rights of its user alone. One of root's keeps the name that it asks by: many ask
  ///     by the same, and none is a user's locker.
  public static func name(of service: String, isUsersOwn: Bool) -> String {
    guard isUsersOwn else { return service }
    return rows.first { $0.asksAs == service }?.name ?? service
  }

  /// Whether the service opens a session that the helper watches; so it is held of one that is not known.
  ///
  /// The module, the helper and `iampassctl check` all use this answer. If they differed, a session could go unwatched.
  public static func opensSession(_ service: String) -> Bool { row(service)?.opensSession ?? true }

  /// Names of the rows for which `holds` is true, in the table's order.
  public static func names(where holds: (ServiceRow) -> Bool) -> [String] { rows.filter(holds).map(\.name) }
}
