/// How often codes are tried. Requests to the phone that were not approved count as tries, too.
public enum CodeTries {
  /// In one sign-in.
  public static let inOneSignIn = 5
  /// By one source for one user, in ``window``.
  public static let inWindow = 10
  /// Tries of digits by all remote hosts together for one user, in ``window``: a hundred million digits are few for a
  /// stranger with many addresses.
  public static let remoteDigitsInWindow = 50
  /// Seconds.
  public static let window: Int64 = 3_600
}
