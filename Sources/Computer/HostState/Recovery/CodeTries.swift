/// Limits on how often codes may be tried. Requests to the phone that were not approved also count as tries.
public enum CodeTries {
  /// Tries in one sign-in.
  public static let inOneSignIn = 5
  /// Tries by one source for one user, in ``window``.
  public static let inWindow = 10
  /// Tries of digits by all remote hosts together for one user, in ``window``: a hundred million possible codes are few
  /// for an attacker with many addresses.
  public static let remoteDigitsInWindow = 50
  /// The time in which tries count, in seconds.
  public static let window: Int64 = 3_600
}
