/// The PAM services of a desktop: greeters, screen lockers and the administrator's dialog.
public enum DesktopServices {
  /// Whether GDM asks: `gdm-password`, and its like for other ways to sign in.
  ///
  /// - Parameter service: PAM_SERVICE, as the host set it.
  public static func isGDM(_ service: String) -> Bool { service.hasPrefix("gdm-") }
}
