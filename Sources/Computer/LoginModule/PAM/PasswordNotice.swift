import HostSystem

/// What a user is told whom the phone has signed in and whose password has expired: the account lines of a stack ask for
/// it all the same.
enum PasswordNotice {
  /// Nil if there is nothing to say. Whether the stack asks is not known here: pam_unix may be told to ignore the age.
  ///
  /// What the system refuses it says itself.
  static func line(_ age: PasswordAge?, today: Int) -> String? {
    guard age?.verdict(today: today) == .mustChange else { return nil }
    return "IAMPASS: your password has expired; if you are asked for it now, type the old one, then a new one"
  }
}
