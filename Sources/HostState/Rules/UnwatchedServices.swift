/// Which PAM services' sessions are never watched: they authenticate one user and open for another, and have no logind
/// session of their own.
public enum UnwatchedServices {
  private static let names: Set<String> = ["sudo", "sudo-i", "su", "su-l", "runuser", "runuser-l"]

  public static func contains(_ service: String) -> Bool { names.contains(service) }
}
