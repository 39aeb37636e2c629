/// `user@UID.service`, which outlives a user's last session if the user lingers or started something by
/// `systemd-run --user`.
public enum UserManager {
  public static func unit(of uid: UInt32) -> String { "user@\(uid).service" }

  /// Whether this is the name of a user's manager.
  static func isUnit(_ name: String) -> Bool {
    guard name.hasPrefix("user@"), name.hasSuffix(".service") else { return false }
    let uid = name.dropFirst("user@".count).dropLast(".service".count)
    return UInt32(uid).map { unit(of: $0) == name } ?? false
  }

  /// Stops the manager of a user who has no session left. A session that cannot be read counts as one.
  ///
  /// - Returns: whether it was told to stop.
  public static func stopIfSignedOut(_ uid: UInt32, _ logind: any Logind) throws(LogindError) -> Bool {
    guard try logind.sessions(of: uid).isEmpty else { return false }
    try logind.stopUnit(unit(of: uid))
    return true
  }
}
