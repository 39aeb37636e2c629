import HostSystem

/// The line for a user whom the phone has approved and whose password has expired: the stack's account lines ask for a
/// new password anyway.
enum PasswordNotice {
  /// Nil if there is no line. It is not known here whether the stack asks: pam_unix may be told to ignore the age.
  ///
  /// The system itself reports its refusals.
  static func line(_ age: PasswordAge?, today: Int) -> String? {
    guard age?.verdict(today: today) == .mustChange else { return nil }
    return "IAMPASS: your password has expired; if you are asked for it now, type the old one, then a new one"
  }
}
