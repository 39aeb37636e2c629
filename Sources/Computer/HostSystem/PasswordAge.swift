import CHost
import Glibc

/// The age limits of a user's system password, by shadow(5). pam_unix(8) applies them in a stack's account lines,
/// whatever approved the sign-in.
public struct PasswordAge: Sendable, Equatable {
  public enum Verdict: Sendable, Equatable {
    case current
    /// The system asks for the old password and a new one (PAM_NEW_AUTHTOK_REQD).
    case mustChange
    /// The password expired more than the days of grace ago: the system refuses the user (PAM_AUTHTOK_EXPIRED).
    case tooOld
    /// The account has expired: the system refuses the user (PAM_ACCT_EXPIRED).
    case accountOver
  }

  /// The last change, in days since 1970. 0: it must be changed. Negative: passwords do not age.
  public let lastChange: Int
  /// The greatest age in days; negative: no limit.
  public let greatest: Int
  /// Days after ``greatest`` in which the old password may still be changed; negative: no limit.
  public let grace: Int
  /// When the account expires, in days since 1970; negative: never.
  public let accountEnd: Int

  public init(lastChange: Int, greatest: Int, grace: Int, accountEnd: Int) {
    self.lastChange = lastChange
    self.greatest = greatest
    self.grace = grace
    self.accountEnd = accountEnd
  }

  /// Nil for a user without an entry, such as one of a directory, and if it cannot be read. Only root can read it.
  public static func of(_ user: UnixUsername) -> PasswordAge? {
    var days = [0, 0, 0, 0]
    // SAFETY: the shim writes four numbers.
    guard iampass_shadow_days(user.text, &days) != 0 else { return nil }
    return PasswordAge(lastChange: days[0], greatest: days[1], grace: days[2], accountEnd: days[3])
  }

  /// Days since 1970, as pam_unix counts them.
  public static var today: Int { time(nil) / 86_400 }

  /// The decision of `check_shadow_expiry` in Linux-PAM's passverify.c.
  public func verdict(today: Int) -> Verdict {
    if accountEnd >= 0, today >= accountEnd { return .accountOver }
    if lastChange == 0 { return .mustChange }
    let age = today - lastChange
    guard lastChange > 0, greatest >= 0, age > greatest else { return .current }
    return grace >= 0 && age > grace && age > greatest + grace ? .tooOld : .mustChange
  }
}
