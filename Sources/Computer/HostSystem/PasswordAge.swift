import CHost
import Glibc

/// How old the system's password of a user may get, as shadow(5) has it: what pam_unix(8) asks for or refuses in a stack's
/// account lines, whoever approved the sign-in.
public struct PasswordAge: Sendable, Equatable {
  public enum Verdict: Sendable, Equatable {
    case current
    /// The system asks for the old password and a new one (PAM_NEW_AUTHTOK_REQD).
    case mustChange
    /// Expired for longer than the days of grace: the system refuses the user (PAM_AUTHTOK_EXPIRED).
    case tooOld
    /// The account's own end has come: the system refuses the user (PAM_ACCT_EXPIRED).
    case accountOver
  }

  /// Days since 1970; 0: must be changed; negative: passwords do not age.
  public let lastChange: Int
  /// Days; negative: without a limit.
  public let greatest: Int
  /// Days after ``greatest`` in which the old password still serves for a change; negative: without a limit.
  public let grace: Int
  /// Days since 1970; negative: never.
  public let accountEnd: Int

  public init(lastChange: Int, greatest: Int, grace: Int, accountEnd: Int) {
    self.lastChange = lastChange
    self.greatest = greatest
    self.grace = grace
    self.accountEnd = accountEnd
  }

  /// Nil for a user without an entry, such as a directory's, and if nobody can tell. Root alone may ask.
  public static func of(_ user: UnixUsername) -> PasswordAge? {
    var days = [0, 0, 0, 0]
    // SAFETY: the shim writes four numbers.
    guard iampass_shadow_days(user.text, &days) != 0 else { return nil }
    return PasswordAge(lastChange: days[0], greatest: days[1], grace: days[2], accountEnd: days[3])
  }

  /// Days since 1970, as pam_unix counts them.
  public static var today: Int { time(nil) / 86_400 }

  /// As `check_shadow_expiry` of Linux-PAM's passverify.c decides.
  public func verdict(today: Int) -> Verdict {
    if accountEnd >= 0, today >= accountEnd { return .accountOver }
    if lastChange == 0 { return .mustChange }
    let age = today - lastChange
    guard lastChange > 0, greatest >= 0, age > greatest else { return .current }
    return grace >= 0 && age > grace && age > greatest + grace ? .tooOld : .mustChange
  }
}
